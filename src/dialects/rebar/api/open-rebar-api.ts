import { type JsonObject, isJsonObject, messageOf } from "#lib/base/index.ts";
import { BlobStore } from "#kernel/artifacts/index.ts";
import { type Door, type KeyPair, openDoor } from "#kernel/doors/index.ts";
import type { Upgrade } from "#kernel/websocket/index.ts";
import { join } from "node:path";
import { EventStreams } from "../events/event-stream.ts";
import { Refused } from "../failure.ts";
import type { Collection } from "../objects.ts";
import type { Call } from "./call.ts";
import { Callers, unknownCaller } from "./callers.ts";
import { apiHandler, prefix, targetOf } from "./handler.ts";
import type { ServerFacts } from "./info.ts";
import { KeptOpen } from "./kept-open.ts";
import { decodeParams, type Owned } from "./params.ts";
import type { ApiGrounds, ApiParts } from "./parts.ts";
import { staticHandler } from "./static-server.ts";
import { isParamOwner } from "./wire.ts";

export interface RebarApiOptions extends ApiGrounds {
  /** Keeps `files` and `isos`. */
  readonly dataDirectory: string;
  /** Of `/api/v3`: `127.0.0.1:8092`. */
  readonly https: { readonly address: string; readonly tls: KeyPair };
  /** Of static files: `127.0.0.1:8091`; undefined: none. */
  readonly http: { readonly address: string } | undefined;
  /** What `/info` says besides the ports. */
  readonly facts: Omit<ServerFacts, "apiPort" | "filePort">;
}

export interface RebarApi {
  /** `host:port`. */
  readonly https: { readonly address: string; readonly port: number };
  readonly http: { readonly address: string; readonly port: number } | undefined;
  close(): Promise<void>;
}

/** Opens the listeners of `/api/v3` and of static files. Rejects if a port is taken. */
export async function openRebarApi(options: RebarApiOptions): Promise<RebarApi> {
  const { store, clock, log, https, http, facts } = options;
  const ports = { apiPort: 0, filePort: 0 };
  const parts = partsOf(options, () => ({ ...facts, ...ports }));
  const streams = new EventStreams(store, clock);
  const answer = apiHandler(parts);
  const api = await openDoor({
    address: https.address,
    tls: https.tls,
    isIdentified: true,
    // The original client has a proxy on a Unix socket for its own children, which keeps this name.
    hosts: ["unix"],
    serves: async () => ({ answer, upgrade: (upgrade) => openStream(parts, streams, upgrade) }),
    form: ({ status, message }) => ({
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ Model: "", Key: "", Type: "AUTH", Messages: [message], Code: status }),
    }),
    // An agent keeps two connections, one of them its event stream.
    most: { connections: 25_000, upgrades: 12_000 },
    clock,
    log,
  });
  ports.apiPort = api.port;
  const files = await openFiles(parts, http?.address, options).catch(async (thrown: unknown) => {
    await api.close();
    throw thrown;
  });
  ports.filePort = files?.port ?? 0;
  return {
    https: api,
    http: files,
    async close() {
      streams.close();
      await Promise.all([api.close(), files?.close()]);
    },
  };
}

const openFiles = async (
  parts: ApiParts,
  address: string | undefined,
  { clock, log }: RebarApiOptions,
): Promise<Door | undefined> =>
  address === undefined
    ? undefined
    : await openDoor({
        address,
        // Machines have no credentials before they boot; nothing but boot files is served.
        isIdentified: true,
        serves: async () => ({ answer: staticHandler(parts) }),
        clock,
        log,
      });

function partsOf(options: RebarApiOptions, facts: () => ServerFacts): ApiParts {
  const { store, accounts, secure, dataDirectory, clock } = options;
  const files = (name: string) => new BlobStore(join(dataDirectory, name));
  return {
    ...options,
    files: files("files"),
    isos: files("isos"),
    trees: files("trees"),
    callers: new Callers({ world: store.world, accounts, clock }),
    keptOpen: new KeptOpen(),
    facts,
    decoded: (call, collection, key, object) => decoded({ secure, store }, call, collection, key, object),
  };
}

async function decoded(
  parts: Pick<ApiParts, "secure" | "store">,
  call: Call,
  collection: Collection,
  key: string,
  object: JsonObject,
): Promise<JsonObject> {
  const { Params } = object;
  const owner = isParamOwner(collection) ? parts.store.world.get(collection, key) : undefined;
  if (owner === undefined || !isJsonObject(Params)) return object;
  return { ...object, Params: await decodeParams(parts, call, { collection, object: owner } as Owned, Params) };
}

/** `GET /ws`: takes the connection over, or refuses with a status and nothing else. */
async function openStream(parts: ApiParts, streams: EventStreams, upgrade: Upgrade): Promise<void> {
  const { callers, keptOpen, agents, clock, log } = parts;
  const { request, socket } = upgrade;
  const { path, query } = targetOf(request.url ?? "");
  try {
    if (path !== `${prefix}/ws`) return refuse(socket, "404 Not Found");
    const caller = await callers.identify(request, query);
    if (caller === unknownCaller) return refuse(socket, "401 Unauthorized", "WWW-Authenticate: dr-provision\r\n");
    const release = keptOpen.take(caller.principal);
    socket.once("close", release);
    // It may have closed already.
    if (socket.destroyed) return release();
    const { acceptText } = await import("#kernel/websocket/index.ts");
    const opened = await acceptText(upgrade, clock);
    streams.add(opened, caller);
    const left = caller.principal.kind === "runner" ? agents?.streamed(caller.principal.machine) : undefined;
    if (left !== undefined) void opened.closed.then(left);
  } catch (thrown) {
    if (thrown instanceof Refused) return refuse(socket, `${thrown.body.Code} Refused`);
    log.warn("opening an event stream failed", { error: messageOf(thrown) });
    socket.destroy();
  }
}

function refuse(socket: Upgrade["socket"], status: string, headers = ""): void {
  socket.end(`HTTP/1.1 ${status}\r\n${headers}Connection: close\r\nContent-Length: 0\r\n\r\n`);
}
