// SPDX-License-Identifier: Apache-2.0
import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import org.apache.iceberg.Files;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.*;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.Endpoint;
import org.apache.iceberg.rest.RESTCatalogProperties;
import org.apache.iceberg.rest.RESTSerializers;
import org.apache.iceberg.rest.RESTUtil;
import org.apache.iceberg.rest.requests.*;
import org.apache.iceberg.rest.responses.*;

/**
 * A REST catalog for tests: Iceberg's own handlers of the protocol over its JDBC catalog in a SQLite file, with files on the local disk.
 *
 * <p>RestServer PORT DATABASE WAREHOUSE CLIENT_ID CLIENT_SECRET. Tokens are given for client credentials; everything else needs one.
 */
public class RestServer {
  /** Files of file: URIs and plain paths, in place of Hadoop's. */
  public static class LocalFiles implements FileIO {
    private static File file(String location) {
      return new File(location.startsWith("file:") ? URI.create(location.replace(" ", "%20")).getPath() : location);
    }

    @Override
    public InputFile newInputFile(String location) {
      InputFile file = Files.localInput(file(location));
      // As it was asked for: what is named in metadata keeps its scheme.
      return new InputFile() {
        @Override
        public long getLength() {
          return file.getLength();
        }

        @Override
        public SeekableInputStream newStream() {
          return file.newStream();
        }

        @Override
        public String location() {
          return location;
        }

        @Override
        public boolean exists() {
          return file.exists();
        }
      };
    }

    @Override
    public OutputFile newOutputFile(String location) {
      File file = file(location).getAbsoluteFile();
      file.getParentFile().mkdirs();
      return Files.localOutput(file);
    }

    @Override
    public void deleteFile(String location) {
      file(location).delete();
    }
  }

  private static final class BadClient extends RuntimeException {}

  private static final List<Endpoint> ENDPOINTS =
      List.of(
          Endpoint.V1_LIST_NAMESPACES, Endpoint.V1_LOAD_NAMESPACE, Endpoint.V1_NAMESPACE_EXISTS, Endpoint.V1_CREATE_NAMESPACE,
          Endpoint.V1_DELETE_NAMESPACE, Endpoint.V1_LIST_TABLES, Endpoint.V1_LOAD_TABLE, Endpoint.V1_TABLE_EXISTS,
          Endpoint.V1_CREATE_TABLE, Endpoint.V1_UPDATE_TABLE, Endpoint.V1_DELETE_TABLE, Endpoint.V1_RENAME_TABLE);

  private final ObjectMapper json = new ObjectMapper();
  private final JdbcCatalog catalog = new JdbcCatalog();
  private final Set<String> tokens = ConcurrentHashMap.newKeySet();
  private final String clientId;
  private final String clientSecret;

  private RestServer(String database, String warehouse, String clientId, String clientSecret) {
    this.clientId = clientId;
    this.clientSecret = clientSecret;
    json.setVisibility(PropertyAccessor.FIELD, Visibility.ANY);
    json.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    json.setPropertyNamingStrategy(new PropertyNamingStrategies.KebabCaseStrategy());
    RESTSerializers.registerAll(json);
    catalog.initialize(
        "rest",
        Map.of(
            "uri", "jdbc:sqlite:" + database, "warehouse", warehouse, "jdbc.schema-version", "V1", "clients", "1",
            "io-impl", LocalFiles.class.getName()));
  }

  public static void main(String[] arguments) throws IOException {
    RestServer server = new RestServer(arguments[1], arguments[2], arguments[3], arguments[4]);
    HttpServer http = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 64);
    http.setExecutor(Executors.newFixedThreadPool(4));
    http.createContext("/", server::handle);
    http.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    int status = 200;
    Object answer = null;
    try {
      answer = route(exchange, exchange.getRequestBody().readAllBytes());
      status = answer == null ? 204 : 200;
    } catch (BadClient e) {
      status = 401;
      answer = Map.of("error", "invalid_client", "error_description", "no such client, or not its secret");
    } catch (Exception e) {
      status = statusOf(e);
      if (status == 500) e.printStackTrace();
      answer =
          ErrorResponse.builder()
              .responseCode(status)
              .withType(e.getClass().getSimpleName())
              .withMessage(String.valueOf(e.getMessage()))
              .build();
    }
    boolean hasBody = answer != null && !exchange.getRequestMethod().equals("HEAD");
    byte[] body = hasBody ? json.writeValueAsBytes(answer) : new byte[0];
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, hasBody ? body.length : -1);
    if (hasBody) exchange.getResponseBody().write(body);
    exchange.close();
  }

  private static int statusOf(Exception e) {
    if (e instanceof NoSuchTableException || e instanceof NoSuchNamespaceException || e instanceof NoSuchElementException) return 404;
    if (e instanceof AlreadyExistsException || e instanceof CommitFailedException || e instanceof NamespaceNotEmptyException) return 409;
    if (e instanceof NotAuthorizedException) return 401;
    if (e instanceof UnsupportedOperationException) return 406;
    if (e instanceof IllegalArgumentException || e instanceof ValidationException || e instanceof JsonProcessingException) return 400;
    return 500;
  }

  private <T> T read(byte[] body, Class<T> type) throws IOException {
    return json.readValue(body, type);
  }

  private Object route(HttpExchange exchange, byte[] body) throws Exception {
    String method = exchange.getRequestMethod();
    String[] path = exchange.getRequestURI().getRawPath().substring(1).split("/");
    String rawQuery = exchange.getRequestURI().getRawQuery();
    Map<String, String> query = rawQuery == null ? Map.of() : RESTUtil.decodeFormData(rawQuery);
    String area = path.length > 1 ? path[1] : "";
    if (area.equals("oauth")) return giveToken(RESTUtil.decodeFormData(new String(body, StandardCharsets.UTF_8)));
    String authorization = exchange.getRequestHeaders().getFirst("Authorization");
    if (authorization == null || !tokens.contains(authorization.replaceFirst("^Bearer ", ""))) {
      throw new NotAuthorizedException("no valid bearer token");
    }
    if (area.equals("config")) return ConfigResponse.builder().withEndpoints(ENDPOINTS).build();
    if (area.equals("tables")) {
      CatalogHandlers.renameTable(catalog, read(body, RenameTableRequest.class));
      return null;
    }
    if (!area.equals("namespaces")) throw new NoSuchElementException("no route to " + exchange.getRequestURI().getPath());
    if (path.length == 2) return ofNamespaces(method, query, body);
    Namespace namespace = RESTUtil.decodeNamespaceAsPathSegment(path[2], "%1F");
    if (path.length == 3) return ofNamespace(method, namespace);
    if (path.length == 4) return ofTables(method, namespace, query, body);
    return ofTable(method, TableIdentifier.of(namespace, RESTUtil.decodePathSegment(path[4])), body);
  }

  private Object giveToken(Map<String, String> form) {
    boolean known = clientId.equals(form.get("client_id")) && clientSecret.equals(form.get("client_secret"));
    if (!known || !"client_credentials".equals(form.get("grant_type"))) throw new BadClient();
    String token = UUID.randomUUID().toString();
    tokens.add(token);
    return OAuthTokenResponse.builder()
        .withToken(token)
        .withTokenType("Bearer")
        .withIssuedTokenType("urn:ietf:params:oauth:token-type:access_token")
        .setExpirationInSeconds(3600)
        .build();
  }

  private Object ofNamespaces(String method, Map<String, String> query, byte[] body) throws IOException {
    if (method.equals("POST")) return CatalogHandlers.createNamespace(catalog, read(body, CreateNamespaceRequest.class));
    Namespace parent = query.containsKey("parent") ? RESTUtil.namespaceFromQueryParam(query.get("parent")) : Namespace.empty();
    if (!query.containsKey("pageSize")) return CatalogHandlers.listNamespaces(catalog, parent);
    return CatalogHandlers.listNamespaces(catalog, parent, query.getOrDefault("pageToken", ""), query.get("pageSize"));
  }

  private Object ofNamespace(String method, Namespace namespace) {
    switch (method) {
      case "GET":
        return CatalogHandlers.loadNamespace(catalog, namespace);
      case "HEAD":
        CatalogHandlers.namespaceExists(catalog, namespace);
        return null;
      default:
        CatalogHandlers.dropNamespace(catalog, namespace);
        return null;
    }
  }

  private Object ofTables(String method, Namespace namespace, Map<String, String> query, byte[] body) throws IOException {
    if (method.equals("POST")) {
      CreateTableRequest request = read(body, CreateTableRequest.class);
      request.validate();
      return request.stageCreate()
          ? CatalogHandlers.stageTableCreate(catalog, namespace, request)
          : CatalogHandlers.createTable(catalog, namespace, request);
    }
    if (!query.containsKey("pageSize")) return CatalogHandlers.listTables(catalog, namespace);
    return CatalogHandlers.listTables(catalog, namespace, query.getOrDefault("pageToken", ""), query.get("pageSize"));
  }

  private Object ofTable(String method, TableIdentifier table, byte[] body) throws IOException {
    switch (method) {
      case "GET":
        return CatalogHandlers.loadTable(catalog, table, RESTCatalogProperties.SnapshotMode.ALL);
      case "POST":
        return CatalogHandlers.updateTable(catalog, table, read(body, UpdateTableRequest.class));
      case "HEAD":
        CatalogHandlers.tableExists(catalog, table);
        return null;
      default:
        CatalogHandlers.dropTable(catalog, table);
        return null;
    }
  }
}
