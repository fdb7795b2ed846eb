import type { IncomingMessage } from "node:http";
import { type Clock, type Instant, isJsonObject, type JsonObject, parseInstant } from "#lib/base/index.ts";
import { LogWriter, removeLog, type Rotation } from "#kernel/streams/index.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { FrameReader } from "./engine/stream-frames.ts";
import { maskLastWord } from "../last-word.ts";
import { maskedValues } from "../masked-values.ts";
import { labels } from "./names.ts";
import { labelsOf } from "./sandboxes.ts";

// Output reaches the log by attaching before the start, byte by byte; or, after a crash of this program or the engine,
// by rewriting the log from the engine's copy, which has whole lines of UTF-8.

export interface Output {
  /** Resolves when all output can be read; a text says why some was lost. Never rejects. */
  readonly done: Promise<string | undefined>;
  readonly isDone: boolean;
  /** Ends it early; received output is kept. */
  close(): void;
}

/** Where output goes, and the masked values. The engine's copy is not masked. */
export interface LogTarget {
  readonly path: string;
  readonly masked: readonly string[];
  readonly rotation?: Rotation;
}

/** Call it before the start. Resolves when the engine will deliver all output. */
export async function attachOutput(
  engine: EngineClient,
  container: string,
  target: LogTarget,
  clock: Clock,
): Promise<Output> {
  const query = { stream: "1", stdout: "1", stderr: "1" };
  const response = await engine.stream("POST", `/containers/${container}/attach`, { query });
  return copyOutput(response, target, clock, (payload) => ({ text: payload }));
}

/** Rewrites the log from the engine's copy, and continues until the container ends. Records have the engine's times. */
export async function readBackOutput(
  engine: EngineClient,
  container: string,
  target: LogTarget,
  clock: Clock,
): Promise<Output> {
  const query = { follow: "1", stdout: "1", stderr: "1", timestamps: "1" };
  const response = await engine.stream("GET", `/containers/${container}/logs`, { query });
  await removeLog(target.path);
  return copyOutput(response, target, clock, splitTime);
}

interface Piece {
  readonly text: Buffer;
  readonly at?: Instant;
}

const space = 0x20;

/** Milliseconds are kept. */
function splitTime(payload: Buffer): Piece {
  const end = payload.indexOf(space);
  const at = parseInstant(payload.toString("latin1", 0, Math.max(0, end)).replace(/(\.\d{3})\d*/, "$1"));
  return at === undefined ? { text: payload } : { text: payload.subarray(end + 1), at };
}

function copyOutput(
  response: IncomingMessage,
  { path, masked, rotation }: LogTarget,
  clock: Clock,
  pieceOf: (payload: Buffer) => Piece,
): Output {
  let at: Instant | undefined;
  const log = new LogWriter(path, {
    masked,
    ...(rotation === undefined ? {} : { rotation }),
    clock: { ...clock, now: () => at ?? clock.now() },
    onDrain: () => response.resume(),
  });
  const frames = new FrameReader((stream, payload) => {
    const piece = pieceOf(payload);
    at = piece.at;
    if (!log.append(stream, piece.text)) response.pause();
  });
  const ended = new Promise<string | undefined>((resolve) => {
    response.on("data", (chunk: Buffer) => {
      try {
        frames.push(chunk);
      } catch (thrown) {
        resolve(thrown instanceof Error ? thrown.message : String(thrown));
        response.destroy();
      }
    });
    response.once("close", () => resolve(undefined));
    // The next query to the engine shows the cause.
    response.on("error", () => undefined);
  });
  let isDone = false;
  const done = ended.then(async (failure) => {
    await log.close();
    isDone = true;
    const lost = log.failure?.message ?? failure;
    return lost === undefined ? undefined : `output is incomplete: ${lost}`;
  });
  return {
    done,
    get isDone() {
      return isDone;
    },
    close: () => response.destroy(),
  };
}

/** Publishes the masked last word of an ended container. Returns why it could not. */
export async function maskMessageOf(container: JsonObject): Promise<string | undefined> {
  const config = container["Config"];
  const message = isJsonObject(config) ? labelsOf(config)[labels.message] : "";
  return message === undefined || message === "" ? undefined : maskLastWord(message, maskedIn(container));
}

export function maskedIn({ Config }: JsonObject): readonly string[] {
  if (!isJsonObject(Config)) return [];
  const names = labelsOf(Config)[labels.masked]?.split(",") ?? [];
  const env = Array.isArray(Config["Env"]) ? Config["Env"] : [];
  const pairs = env.flatMap((pair) => (typeof pair === "string" ? [pair] : []));
  const variables = pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)] as const);
  return maskedValues(names, Object.fromEntries(variables));
}
