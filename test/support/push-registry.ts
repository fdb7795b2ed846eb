import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";

/** A registry on loopback that keeps what is pushed to it by who has the login. */
export interface PushRegistry {
  /** `127.0.0.1:<port>`. */
  readonly host: string;
  /** `name:tag` of the manifests that it was given, sorted. */
  readonly pushed: () => readonly string[];
  close(): Promise<void>;
}

const bytesOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

/** By the protocol of the OCI distribution specification, as far as a push goes. */
export async function startPushRegistry(username: string, password: string): Promise<PushRegistry> {
  const login = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const blobs = new Map<string, Buffer>();
  const uploads = new Map<string, Buffer>();
  const manifests = new Set<string>();
  const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const server = createServer((request, response) => {
    void (async () => {
      const body = await bytesOf(request);
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://registry");
      if (request.headers.authorization !== login)
        return void response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
      const [, name = "", kind = "", reference = ""] = /^\/v2\/(.+)\/(blobs|manifests)\/(.+)$/.exec(pathname) ?? [];
      if (kind === "") return void response.end("{}");
      if (kind === "manifests") {
        if (request.method !== "PUT") return void response.writeHead(404).end();
        manifests.add(`${name}:${reference}`);
        return void response.writeHead(201, { "docker-content-digest": digestOf(body) }).end();
      }
      if (!reference.startsWith("uploads/")) {
        const blob = blobs.get(reference);
        return void response.writeHead(blob === undefined ? 404 : 200, { "content-length": blob?.length ?? 0 }).end();
      }
      if (request.method === "PUT") {
        const whole = Buffer.concat([uploads.get(pathname) ?? Buffer.alloc(0), body]);
        const digest = searchParams.get("digest") ?? "";
        if (digestOf(whole) !== digest) return void response.writeHead(400).end();
        blobs.set(digest, whole);
        return void response.writeHead(201, { "docker-content-digest": digest }).end();
      }
      const location = request.method === "POST" ? `${pathname}${uploads.size + 1}` : pathname;
      uploads.set(location, Buffer.concat([uploads.get(location) ?? Buffer.alloc(0), body]));
      const length = uploads.get(location)?.length ?? 0;
      response
        .writeHead(202, { location, range: `0-${Math.max(0, length - 1)}`, "docker-upload-uuid": location })
        .end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    host: `127.0.0.1:${address.port}`,
    pushed: () => [...manifests].sort(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
