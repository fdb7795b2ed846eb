import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import { type ApiServer, createApiServer, ensureAdminToken } from "#kernel/apiserver/index.ts";
import { loadX509 } from "#kernel/doors/index.ts";
import { type DurableStore, openStore } from "#kernel/apiserver/store/open.ts";
import type { ApiClient } from "#kernel/kit/index.ts";

/** A server on a data directory behind one address that stays, with everything that may go wrong at hand. */
export interface UnreliableServer {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  /** The way around all faults; valid until the next restart. */
  client(): ApiClient;
  /** Of the last published change. */
  revision(): number;
  /** Ends the server and its store in order, and opens both again. */
  restart(): Promise<void>;
  /** Forgets all history: watches that are behind get 410. */
  forget(): Promise<void>;
  /** Cuts all connections in the middle of whatever they carry. */
  cut(): void;
  /** Carries nothing, in either direction, until told; connections stay open. */
  stall(isStalled: boolean): void;
  /** Refuses new connections until told. */
  refuse(isRefusing: boolean): void;
  /** How things stand, for whoever waits in vain: what the server is doing, and what its connections have carried. */
  state(): object;
  close(): Promise<void>;
}

export async function startUnreliableServer(directory: string): Promise<UnreliableServer> {
  const now = systemClock.now();
  const { createAuthority, createServing } = await loadX509();
  const authority = await createAuthority(now, "slipway-test");
  const serving = await createServing(authority, ["localhost", "127.0.0.1"], now);
  const storeClock = new FakeClock();
  const retention = { looks: 0, minEvents: 0, everyMs: 1000 };
  let token: string | undefined;
  let store: DurableStore;
  let server: ApiServer;
  let port = 0;

  const state = { doing: "", isRefusing: false, isStalled: false };
  const open = async () => {
    state.doing = "opens the store";
    store = await openStore(join(directory, "store"), { clock: storeClock, retention });
    state.doing = "starts the server";
    server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0" });
    token = await ensureAdminToken(store, token);
    port = Number(new URL((await server.listen({ port: 0, tls: serving })).url).port);
    state.doing = "serves";
  };
  const shut = async () => {
    state.doing = "closes the server";
    await server.close();
    state.doing = "closes the store";
    await store.close();
    state.doing = "is closed";
  };
  await open();

  const pairs = new Set<readonly [Socket, Socket]>();
  const front = createServer((near) => {
    if (state.isRefusing) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on("error", () => to.destroy());
      from.on("close", () => {
        pairs.delete(pair);
        to.destroy();
      });
      from.pipe(to);
      if (state.isStalled) from.pause();
    }
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const address = front.address();
  if (address === null || typeof address === "string") throw new Error("the front has no port");
  return {
    url: `https://127.0.0.1:${address.port}`,
    ca: authority.cert,
    token: token ?? "",
    client: () => server.client(),
    revision: () => store.revision,
    async restart() {
      await shut();
      await open();
    },
    forget: () => storeClock.advance(1000),
    cut: () => pairs.forEach(([near, far]) => [near, far].forEach((socket) => socket.destroy())),
    stall(isStalled) {
      state.isStalled = isStalled;
      for (const socket of [...pairs].flat()) {
        if (isStalled) socket.pause();
        else socket.resume();
      }
    },
    refuse: (isRefusing) => void (state.isRefusing = isRefusing),
    state: () => ({
      ...state,
      revision: store.revision,
      connections: [...pairs].map(([near, far]) => ({ toServer: carried(near, far), toClient: carried(far, near) })),
    }),
    async close() {
      await shut();
      for (const socket of [...pairs].flat()) socket.destroy();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}

/** How many bytes have come, how many of them have gone on, and what keeps the rest. */
function carried(from: Socket, to: Socket): string {
  const how = [from.isPaused() ? "paused" : "", from.readyState, to.writableNeedDrain ? "the reader is behind" : ""];
  return `${from.bytesRead} B in, ${to.bytesWritten} B out, ${how.filter(Boolean).join(", ")}`;
}
