// SPDX-License-Identifier: Apache-2.0
//
// Anchors the precompiled header (and a layer that has only headers yet).
