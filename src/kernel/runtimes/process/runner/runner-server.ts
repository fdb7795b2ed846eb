import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { type Cancel, type Clock, deferred, messageOf, type Millis } from "#lib/base/index.ts";
import type { RuntimeCapabilities, TaskStatus } from "../../contract.ts";
import { encodeFrame, type Message, protocolVersion, receiveFrames, type Request } from "../wire.ts";
import type { TaskTable } from "./task-table.ts";

export interface RunnerServerOptions {
  readonly clock: Clock;
  readonly socketPath: string;
  readonly idle: Millis;
  readonly capabilities: () => Promise<RuntimeCapabilities>;
}

/**
 * The runner's socket. One connection at a time owns the runner; the newest that says hello. Without an owner and without
 * running tasks the runner ends after `idle`, or at once when the owner has released it.
 */
export class RunnerServer {
  readonly #options: RunnerServerOptions;
  readonly #server: Server;
  readonly #done = deferred<void>();
  #table: TaskTable | undefined;
  #owner: Socket | undefined;
  #cancelIdle: Cancel | undefined;
  #released = false;

  constructor(options: RunnerServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Resolves when the runner has nothing left to do. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  async listen(table: TaskTable): Promise<void> {
    this.#table = table;
    const { socketPath } = this.#options;
    // Only the holder of the lock comes here, so a socket that exists is a dead runner's.
    await rm(socketPath, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(socketPath, resolve);
    });
    await chmod(socketPath, 0o600);
    this.#rest();
  }

  /** Tells the owner of a change; without one it is told at the next hello. */
  tell(status: TaskStatus): void {
    if (this.#owner !== undefined) send(this.#owner, { event: "task", status });
    if (status.state.phase === "ended") this.#rest();
  }

  async close(): Promise<void> {
    this.#cancelIdle?.();
    this.#owner?.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await rm(this.#options.socketPath, { force: true });
  }

  #rest(): void {
    this.#cancelIdle?.();
    if (this.#owner !== undefined || this.#table === undefined || this.#table.active > 0) return;
    this.#cancelIdle = this.#options.clock.after(this.#released ? 0 : this.#options.idle, () => this.#done.resolve());
  }

  #accept(socket: Socket): void {
    // A reset by the other end is an end like any other.
    socket.on("error", () => undefined);
    socket.on("close", () => {
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
        return table.start(request.task);
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

function send(socket: Socket, message: Message): void {
  if (socket.writable) socket.write(encodeFrame(message));
}
