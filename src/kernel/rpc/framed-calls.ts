import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type Cancel, type Clock, type Logger, messageOf, type Millis, toError, onAbort } from "#lib/base/index.ts";
import { RpcError, shutdown, statusCodes } from "./status.ts";

// Server streams of ready frames: one write for a thousand messages, where grpc-js needs one for each.

export interface FrameSink {
  /** Aborts with the reason if the call ends before its handler. */
  readonly signal: AbortSignal;
  /** Whole frames, owned by the call. Resolves when more may be written; rejects when the call has ended. */
  write(frames: Buffer): Promise<void>;
}

/** The call ends OK when this resolves, or with the code of an `RpcError`. */
export type FramedHandler<I extends DescMessage> = (request: MessageShape<I>, sink: FrameSink) => Promise<void>;

export interface FramedCallsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends calls with UNAVAILABLE. */
  readonly closing: AbortSignal;
}

const longestRequest = 1024 * 1024;
/** For the request after its headers. */
const requestLimit: Millis = 10_000;

export class FramedCalls {
  readonly #options: FramedCallsOptions;
  readonly #open = new Set<FramedCall>();

  constructor(options: FramedCallsOptions) {
    this.#options = options;
    // One listener for all calls: adding one to a signal costs as much as it has.
    options.closing.addEventListener("abort", () => {
      for (const call of this.#open) call.end(shutdown);
    });
  }

  /** Answers requests for a method whose message is `input`. */
  handler<I extends DescMessage>(input: I, run: FramedHandler<I>) {
    return (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void =>
      void this.#answer(new FramedCall(stream), headers, input, run);
  }

  /** Never rejects. */
  async #answer<I extends DescMessage>(
    call: FramedCall,
    headers: IncomingHttpHeaders,
    input: I,
    run: FramedHandler<I>,
  ): Promise<void> {
    const { clock, log, closing } = this.#options;
    this.#open.add(call);
    const cancels: Cancel[] = [];
    try {
      if (closing.aborted) throw shutdown;
      const limit = timeoutOf(headers["grpc-timeout"]);
      if (limit !== undefined) cancels.push(clock.after(limit, () => call.end(tooLate)));
      const late = clock.after(requestLimit, () => call.end(noRequest));
      const bytes = await call.request().finally(late);
      await run(decode(input, bytes), call);
      call.finish("OK", "");
    } catch (thrown) {
      const reason: unknown = call.signal.aborted ? call.signal.reason : thrown;
      if (reason instanceof RpcError) call.finish(reason.code, reason.message);
      else {
        log.error("a call has failed", {
          path: headers[":path"],
          error: messageOf(reason),
          stack: toError(reason).stack,
        });
        call.finish("INTERNAL", "the server has failed");
      }
    } finally {
      for (const cancel of cancels) cancel();
      this.#open.delete(call);
    }
  }
}

const callerGone = new RpcError("CANCELLED", "the caller has gone");
const tooLate = new RpcError("DEADLINE_EXCEEDED", "the call has taken longer than its caller allows");
const noRequest = new RpcError("DEADLINE_EXCEEDED", "the request has not come");

class FramedCall implements FrameSink {
  readonly #stream: ServerHttp2Stream;
  readonly #ending = new AbortController();

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on("error", () => undefined);
    stream.once("close", () => this.end(callerGone));
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** The first reason counts. */
  end(reason: RpcError): void {
    this.#ending.abort(reason);
  }

  /** The bytes of the single request message. */
  async request(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    await new Promise<void>((resolve, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason as Error), { once: true });
      this.#stream.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > longestRequest) reject(new RpcError("RESOURCE_EXHAUSTED", "the request is too long"));
        else chunks.push(chunk);
      });
      this.#stream.once("end", resolve);
    });
    const bytes = Buffer.concat(chunks);
    if (length < 5 || bytes.readUInt32BE(1) !== length - 5)
      throw new RpcError("INVALID_ARGUMENT", "expected a request of one message");
    if (bytes[0] !== 0) throw new RpcError("UNIMPLEMENTED", "compressed requests are not taken");
    return bytes.subarray(5);
  }

  async write(frames: Buffer): Promise<void> {
    this.signal.throwIfAborted();
    const stream = this.#stream;
    if (!stream.headersSent) this.#respond();
    if (stream.write(frames)) return;
    await new Promise<void>((resolve, reject) => {
      const drained = (): void => {
        forget();
        resolve();
      };
      stream.once("drain", drained);
      const forget = onAbort(this.signal, () => {
        stream.off("drain", drained);
        reject(this.signal.reason as Error);
      });
    });
  }

  /** Written frames come first, unless the call was cut. */
  finish(code: keyof typeof statusCodes, message: string): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const trailers = { "grpc-status": statusCodes[code], "grpc-message": escapeMessage(message) };
    if (!stream.headersSent) return stream.respond({ ...responseHeaders, ...trailers }, { endStream: true });
    stream.once("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end();
  }

  #respond(): void {
    this.#stream.respond(responseHeaders, { waitForTrailers: true });
  }
}

const responseHeaders = { ":status": 200, "content-type": "application/grpc+proto" } as const;

/** Invalid bytes are the caller's mistake. */
function decode<I extends DescMessage>(input: I, bytes: Buffer): MessageShape<I> {
  try {
    return fromBinary(input, bytes);
  } catch (cause) {
    throw new RpcError("INVALID_ARGUMENT", `the request is no ${input.typeName}`, { cause });
  }
}

const units: Readonly<Record<string, Millis>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Undefined without a limit. */
function timeoutOf(header: string | string[] | undefined): Millis | undefined {
  if (header === undefined) return undefined;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? [];
  const scale = units[unit];
  if (digits === undefined || scale === undefined)
    throw new RpcError("INVALID_ARGUMENT", `grpc-timeout: expected a number and a unit, found ${String(header)}`);
  return Number(digits) * scale;
}

/** Percent-encodes everything but plain ASCII. */
export const escapeMessage = (message: string): string =>
  message.replace(/[^ -$&-~]+/g, (part) => encodeURIComponent(Buffer.from(part).toString()));
