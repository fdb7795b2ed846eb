import { createHash, randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { gzipSync } from "node:zlib";

/** A registry of one image that asks for name and password, on loopback: engines speak plain HTTP to it. */
export interface TestRegistry {
  /** `127.0.0.1:<port>`. */
  readonly host: string;
  /** How many manifests were asked for with the right login. */
  readonly pulls: () => number;
  close(): Promise<void>;
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** Serves the layer `tar` as every image with every tag, by the protocol of the OCI distribution specification. */
export async function startRegistry(tar: Buffer, username: string, password: string): Promise<TestRegistry> {
  const layer = gzipSync(tar);
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === "arm64" ? "arm64" : "amd64",
      os: "linux",
      // Of no other registry: an engine does not ask for what it has.
      config: { Env: ["PATH=/bin"], Cmd: ["/bin/sh", "-c", "echo from the image"], Labels: { of: randomUUID() } },
      rootfs: { type: "layers", diff_ids: [digestOf(tar)] },
    }),
  );
  const base = "application/vnd.docker";
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: `${base}.distribution.manifest.v2+json`,
      config: { mediaType: `${base}.container.image.v1+json`, size: config.length, digest: digestOf(config) },
      layers: [{ mediaType: `${base}.image.rootfs.diff.tar.gzip`, size: layer.length, digest: digestOf(layer) }],
    }),
  );
  const blobs = new Map([config, layer].map((bytes) => [digestOf(bytes), bytes]));
  const login = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  let pulls = 0;
  const server: Server = createServer((request, response) => {
    const { url = "", headers, method } = request;
    if (headers.authorization !== login) {
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
    }
    const isManifest = url.includes("/manifests/");
    const body = isManifest ? manifest : blobs.get(url.slice(url.lastIndexOf("/") + 1));
    if (url === "/v2/") return void response.end("{}");
    if (body === undefined) return void response.writeHead(404).end();
    if (isManifest && method === "GET") pulls++;
    const type = isManifest ? `${base}.distribution.manifest.v2+json` : "application/octet-stream";
    response.writeHead(200, {
      "content-type": type,
      "content-length": body.length,
      "docker-content-digest": digestOf(body),
    });
    response.end(method === "HEAD" ? undefined : body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    host: `127.0.0.1:${address.port}`,
    pulls: () => pulls,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
