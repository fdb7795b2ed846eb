import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { type Cancel, type Clock, deferred, messageOf, type Millis, toError } from "#lib/base/index.ts";
import type { RuntimeCapabilities, TaskStatus } from "../../contract.ts";
import { encodeFrame, type Message, protocolVersion, receiveFrames, type Request } from "../wire.ts";
import type { TaskTable } from "./task-table.ts";

export interface RunnerServerOptions {
  readonly clock: Clock;
  /** Short enough for the kernel; see `runnerPaths`. Only its owner may connect, which is the only authentication. */
  readonly socketPath: string;
  /** How long it stays without owner and tasks. */
  readonly idle: Millis;
  readonly capabilities: () => Promise<RuntimeCapabilities>;
}

/**
 * The runner's socket. One connection at a time owns the runner; the newest that says hello. Without an owner and without
 * running tasks the runner ends after `idle`, or at once when the owner has released it.
 *
 *     connect -> hello -> [owner] start, stop, remove, capabilities … -> release | connection lost
 *                            \-> another connection says hello: this one is told `replaced` and closed
 *
 * Requests of others than the owner are refused, so two servers can never give contrary orders.
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

  /** Resolves when connections are accepted; the idle time begins. Rejects if the socket cannot be made. */
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

  /** Tells the owner; without one, the next hello tells it. */
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

  /** Starts the idle time if nothing else is awaited. Called whenever that may have changed. */
  #rest(): void {
    this.#cancelIdle?.();
    if (this.#owner !== undefined || this.#table === undefined || this.#table.active > 0) return;
    this.#cancelIdle = this.#options.clock.after(this.#released ? 0 : this.#options.idle, () => this.#done.resolve());
  }

  #accept(socket: Socket): void {
    this.#connections.add(socket);
    // A reset by the other end is an end too.
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
        // An intent that could not be recorded is no task.
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

/** Never throws: an answer that cannot be sent breaks only its connection. */
function send(socket: Socket, message: Message): void {
  if (!socket.writable) return;
  try {
    socket.write(encodeFrame(message));
  } catch (thrown) {
    socket.destroy(toError(thrown));
  }
}
