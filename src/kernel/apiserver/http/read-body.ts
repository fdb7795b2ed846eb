import type { IncomingMessage } from "node:http";
import { tooLarge } from "#kernel/model/index.ts";
import { type JsonExcess, JsonShape } from "#lib/json/index.ts";
import type { Limits } from "../verbs/limits.ts";
import { BodyPieces } from "./body-pieces.ts";
import { mediaTypeOf } from "./body.ts";
import { refuseExcess } from "./yaml-body.ts";
import type { Exchange } from "./exchange.ts";
import { largeBodyBytes } from "./large-bodies.ts";

/** Read in one turn: a fast connection would deliver everything at once, ten milliseconds of decryption. */
const burstBytes = 128 * 1024;

export type BodyLimits = Pick<Limits, "maxBodyBytes" | "maxBodyValues" | "maxObjectMembers" | "maxDepth">;

export type BodyExchange = Pick<Exchange, "request" | "response" | "bodies" | "identity">;

/** Throws 413 or 429 as early as possible. Too deep JSON comes incomplete, for its decoder to report. */
export async function readBody(exchange: BodyExchange, limits: BodyLimits): Promise<BodyPieces> {
  const { request, bodies } = exchange;
  const announced = Number(request.headers["content-length"] ?? "0");
  if (announced > limits.maxBodyBytes) throw bodyTooLarge(limits.maxBodyBytes);
  const body = await gather(exchange, limits);
  if (body.size > largeBodyBytes) await bodies.turn();
  return body;
}

function gather(
  { request, response, bodies, identity: { user } }: BodyExchange,
  limits: BodyLimits,
): Promise<BodyPieces> {
  return new Promise((resolve, reject) => {
    const pieces = new BodyPieces();
    let [held, readTo] = [0, 0];
    let isSettled = false;
    let shape: LateShape | undefined;
    const settle = (act: () => void): void => {
      isSettled = true;
      request.off("data", take).off("end", finish).off("close", leave).off("error", leave);
      act();
    };
    const take = (chunk: Buffer): void => {
      pieces.add(chunk);
      try {
        const { size } = pieces;
        if (size > limits.maxBodyBytes) throw bodyTooLarge(limits.maxBodyBytes);
        // Most bodies come whole. Slow ones could fill the memory together.
        if (size === chunk.length && size <= largeBodyBytes) return;
        if (held === 0) response.once("close", () => bodies.release(user, held));
        bodies.hold(user, size - held);
        held = size;
        if (size <= largeBodyBytes) return;
        shape ??= new LateShape(limits, isJson(request, pieces.all()));
        const excess = shape.takeNext(chunk, pieces);
        if (excess === undefined && size - readTo < burstBytes) return;
        request.pause();
        readTo = size;
        if (excess === "maxDepth") finish();
        else void bodies.share(request).then(() => (isSettled ? undefined : request.resume()));
      } catch (refusal) {
        // Destroying the request would take the connection away from the answer.
        request.pause();
        settle(() => reject(refusal));
      }
    };
    const finish = (): void => settle(() => resolve(pieces));
    const leave = (): void => settle(() => reject(new Error("the client has left before its body was whole")));
    request.on("data", take).on("end", finish).on("close", leave).on("error", leave);
  });
}

class LateShape {
  readonly #limits: BodyLimits;
  readonly #shape: JsonShape | undefined;
  #hasBegun = false;

  constructor(limits: BodyLimits, hasShape: boolean) {
    const { maxDepth, maxBodyValues: maxValues, maxObjectMembers: maxMembers } = limits;
    this.#limits = limits;
    this.#shape = hasShape ? new JsonShape({ maxDepth, maxValues, maxMembers }) : undefined;
  }

  /** Takes the newest piece, at first all of them. Throws 413. */
  takeNext(chunk: Buffer, pieces: BodyPieces): JsonExcess | undefined {
    const next = this.#hasBegun ? [chunk] : pieces.all();
    this.#hasBegun = true;
    for (const piece of next) {
      const excess = this.#shape?.take(piece);
      if (excess !== undefined) refuseExcess(excess, this.#limits);
      if (excess !== undefined) return excess;
    }
    return undefined;
  }
}

/** By the first character, because apply often sends JSON as YAML. A YAML bracket changes the meaning of quotes. */
function isJson(request: IncomingMessage, pieces: readonly Buffer[]): boolean {
  if (mediaTypeOf(request) === "application/yaml") return false;
  for (const piece of pieces) for (const byte of piece) if (!blanks.has(byte)) return byte === 0x5b || byte === 0x7b;
  return true;
}

const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

const bodyTooLarge = (maxBytes: number) => tooLarge(`the body of the request is larger than ${maxBytes} bytes`);
