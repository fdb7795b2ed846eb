import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { type Cancel, type Clock, deferred, messageOf, type Millis, toError } from "#lib/base/index.ts";
import type { RuntimeCapabilities, TaskStatus } from "../../contract.ts";
import { encodeFrame, type Message, protocolVersion, receiveFrames, type Request } from "../wire.ts";
import type { TaskTable } from "./task-table.ts";

export interface RunnerServerOptions {
  readonly clock: Clock;
  /** Only its owner may connect; there is no other authentication. */
  readonly socketPath: string;
  /** How long to stay without owner and tasks. */
  readonly idle: Millis;
  readonly capabilities: () => Promise<RuntimeCapabilities>;
}

/**
 * The runner's socket. The newest connection that says hello owns the runner. Without owner and running tasks the
 * runner ends after `idle`, or at once if the owner released it.
 *
 *     connect -> hello -> [owner] start, stop, remove, capabilities … -> release | connection lost
 *                            \-> another connection says hello: this one gets `replaced` and is closed
 *
 * Only the owner's requests are accepted, so two servers cannot give contrary orders.
 */
export class RunnerServer {
  readonly #options: RunnerServerOptions;
  readonly #server: Server;
  readonly #done = deferred<void>();
  readonly #connections = new Set<Socket>();
  #table: TaskTable | undefined;
  #owner: Socket | undefined;
  #cancelIdle: Cancel | undefined;
  /** The last owner is not coming back. */
  #released = false;

  constructor(options: RunnerServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Resolves when the runner has nothing left to do. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Resolves when connections are accepted; the idle time begins. Rejects if the socket cannot be created. */
  async listen(table: TaskTable): Promise<void> {
    this.#table = table;
    const { socketPath } = this.#options;
    // The lock is held, so an existing socket is a dead runner's.
    await rm(socketPath, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(socketPath, resolve);
    });
    await chmod(socketPath, 0o600);
    this.#rest();
  }

  /** Reports a change to the owner; without one, the next hello includes it. */
  tell(status: TaskStatus): void {
    if (this.#owner !== undefined) send(this.#owner, { event: "task", status });
    if (status.state.phase === "ended") this.#rest();
  }

  /** Closes all connections and removes the socket. */
  async close(): Promise<void> {
    this.#cancelIdle?.();
    for (const socket of this.#connections) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await rm(this.#options.socketPath, { force: true });
  }

  /** Starts the idle timer if there is neither owner nor task. Call it whenever that may have changed. */
  #rest(): void {
    this.#cancelIdle?.();
    if (this.#owner !== undefined || this.#table === undefined || this.#table.active > 0) return;
    this.#cancelIdle = this.#options.clock.after(this.#released ? 0 : this.#options.idle, () => this.#done.resolve());
  }

  #accept(socket: Socket): void {
    this.#connections.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#connections.delete(socket);
      if (this.#owner === socket) this.#owner = undefined;
      this.#rest();
    });
    receiveFrames<Request>(socket, (request) => {
      void this.#answer(socket, request).then(
        (value) => send(socket, { seq: request.seq, value }),
        (failure: unknown) => send(socket, { seq: request.seq, error: messageOf(failure) }),
      );
    });
  }

  async #answer(socket: Socket, request: Request): Promise<Extract<Message, { value: unknown }>["value"]> {
    const table = this.#table;
    if (table === undefined) throw new Error("the runner is not ready");
    if (request.op === "hello") return this.#welcome(socket, table);
    if (socket !== this.#owner) throw new Error("this connection does not own the runner");
    switch (request.op) {
      case "capabilities":
        return this.#options.capabilities();
      case "start":
        // A task whose intent was not recorded has no change to report.
        return table.start(request.task).finally(() => this.#rest());
      case "stop":
        table.stop(request.id, request.graceMs);
        return null;
      case "remove":
        await table.remove(request.ids);
        return null;
      case "release":
        this.#released = true;
        if (request.stopTasksMs !== undefined) table.stopAll(request.stopTasksMs);
        return null;
    }
  }

  #welcome(socket: Socket, table: TaskTable) {
    const former = this.#owner;
    this.#owner = socket;
    this.#released = false;
    this.#cancelIdle?.();
    if (former !== undefined && former !== socket) {
      send(former, { event: "replaced" });
      former.end();
    }
    return { protocol: protocolVersion, tasks: table.list() };
  }
}

/** Never throws: an answer that cannot be sent breaks its connection only. */
function send(socket: Socket, message: Message): void {
  if (!socket.writable) return;
  try {
    socket.write(encodeFrame(message));
  } catch (thrown) {
    socket.destroy(toError(thrown));
  }
}
