// SPDX-License-Identifier: Apache-2.0
//
// The system calls the allocator stands on. Ranges are anonymous, private, whole pages, and never backed by huge pages: a huge
// page would make 2 MiB resident when 4 KiB were charged. None of these touches a page; fresh ranges read as zeros.
#pragma once

#include <cstdint>

namespace icebound::memory {

/// A fresh range, or null when the system has no address space left.
uint8_t* MapPages(int64_t bytes);

/// A fresh range whose address is a multiple of `alignment` (a power of two).
uint8_t* MapAlignedPages(int64_t bytes, int64_t alignment);

/// Gives pages and addresses back. False when the system would need more mappings than it allows (max_map_count); then use
/// DropPages and keep the addresses.
bool UnmapPages(uint8_t* address, int64_t bytes);

/// Gives the pages back and keeps the addresses; they read as zeros when touched again.
void DropPages(uint8_t* address, int64_t bytes);

/// Grows or shrinks a range by moving page tables, never by copying. Null when the system refuses; then nothing changed.
uint8_t* RemapPages(uint8_t* address, int64_t old_bytes, int64_t new_bytes);

}  // namespace icebound::memory
