import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** An answer whose body was read whole. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

export interface Target {
  readonly port: number;
  /** Absent: without TLS. */
  readonly ca?: string;
}

const headEnd = Buffer.from("\r\n\r\n");

/**
 * One keep-alive connection, one request at a time, bytes prepared by the caller. Knows of HTTP/1.1 just what servers of
 * benchmarks answer with: Content-Length or chunks.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #received: Buffer[] = [];
  #wake: (() => void) | undefined;
  #failure: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => {
      this.#received.push(bytes);
      this.#wake?.();
    });
    const fail = (error: Error) => {
      this.#failure ??= error;
      this.#wake?.();
    };
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the server closed the connection")));
  }

  static async open({ port, ca }: Target): Promise<HttpConnection> {
    const socket =
      ca === undefined
        ? connectPlain({ port, host: "127.0.0.1" })
        : connectTls({ port, host: "127.0.0.1", ca, servername: "localhost" });
    await once(socket, ca === undefined ? "connect" : "secureConnect");
    return new HttpConnection(socket);
  }

  async send(request: Buffer | string): Promise<HttpAnswer> {
    this.#socket.write(request);
    const { status, head } = await this.#readHead();
    if (status === 204) return { status, body: Buffer.alloc(0) };
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) return { status, body: await this.#take(Number(length)) };
    const parts: Buffer[] = [];
    for (let part = await this.#readChunk(); part !== undefined; part = await this.#readChunk()) parts.push(part);
    return { status, body: Buffer.concat(parts) };
  }

  /** Sends a request whose answer goes on without end, and gives its lines. */
  async *lines(request: Buffer | string): AsyncGenerator<Buffer, void> {
    this.#socket.write(request);
    const { status, head } = await this.#readHead();
    if (status !== 200) throw new Error(`the server answered ${status}: ${head}`);
    let rest: Buffer = Buffer.alloc(0);
    for (let part = await this.#readChunk(); part !== undefined; part = await this.#readChunk()) {
      rest = rest.length === 0 ? part : Buffer.concat([rest, part]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        yield rest.subarray(0, end);
        rest = rest.subarray(end + 1);
      }
    }
  }

  close(): void {
    this.#failure ??= new Error("the connection was closed here");
    this.#socket.destroy();
  }

  async #readHead(): Promise<{ readonly status: number; readonly head: string }> {
    const head = (await this.#takeThrough(headEnd)).toString("latin1");
    return { status: Number(head.slice(9, 12)), head };
  }

  /** Undefined after the last chunk. */
  async #readChunk(): Promise<Buffer | undefined> {
    const size = Number.parseInt((await this.#takeThrough(headEnd.subarray(0, 2))).toString("latin1"), 16);
    const chunk = await this.#take(size + 2);
    return size === 0 ? undefined : chunk.subarray(0, size);
  }

  async #takeThrough(mark: Buffer): Promise<Buffer> {
    for (;;) {
      const all = this.#joined();
      const at = all.indexOf(mark);
      if (at >= 0) return this.#take(at + mark.length);
      await this.#more();
    }
  }

  async #take(length: number): Promise<Buffer> {
    let size = this.#received.reduce((sum, part) => sum + part.length, 0);
    while (size < length) {
      const before = this.#received.length;
      await this.#more();
      for (const part of this.#received.slice(before)) size += part.length;
    }
    const all = this.#joined();
    this.#received = all.length === length ? [] : [all.subarray(length)];
    return all.subarray(0, length);
  }

  #joined(): Buffer {
    if (this.#received.length !== 1) this.#received = [Buffer.concat(this.#received)];
    return this.#received[0] ?? Buffer.alloc(0);
  }

  async #more(): Promise<void> {
    const before = this.#received.length;
    while (this.#received.length === before || this.#received.at(-1)?.length === 0) {
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}

/** The text of a request up to its body. */
export function requestHead(method: string, path: string, headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries({ Host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}
