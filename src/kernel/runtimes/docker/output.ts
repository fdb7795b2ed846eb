import type { IncomingMessage } from "node:http";
import { type Clock, type Instant, isJsonObject, type JsonObject, parseInstant } from "#lib/base/index.ts";
import { LogWriter, removeLog, type Rotation } from "#kernel/logs/index.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { FrameReader } from "./engine/stream-frames.ts";
import { maskLastWord } from "../last-word.ts";
import { maskedValues } from "../masked-values.ts";
import { labels } from "./names.ts";
import { labelsOf } from "./sandboxes.ts";

// Output reaches our log by one of two ways:
//
//   attached before the start     every byte as it was written, at once, also lines that have no end yet
//   read back from the engine     after a crash of this program or of the engine: our log is written anew from the engine's copy,
//                                 which has whole lines and text that is UTF-8

/** The output of one container on its way into its log. */
export interface Output {
  /** Resolves when no more comes and what came can be read; a text says why some of it was lost. Never rejects. */
  readonly done: Promise<string | undefined>;
  /** `done` has resolved. */
  readonly isDone: boolean;
  /** Ends it early; what has come is kept. */
  close(): void;
}

/** Where output goes, and the values that do not get there. The engine's own copy has them. */
export interface LogTarget {
  readonly path: string;
  readonly masked: readonly string[];
  readonly rotation?: Rotation;
}

/** Must be called before the container is started. Resolves when the engine will pass on all output from the first byte on. */
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

/**
 * Writes the log anew from the engine's copy, and goes on with what comes until the container ends. Records have the times at which
 * the engine saw them.
 */
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

/** `2026-11-21T11:39:20.022015903Z text`; milliseconds are kept. */
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
    // What broke the connection is seen by whoever asks the engine next.
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

/** Once a container has ended: what it says of its end is put where it is read. Answers what has kept it from that. */
export async function maskMessageOf(container: JsonObject): Promise<string | undefined> {
  const config = container["Config"];
  const message = isJsonObject(config) ? labelsOf(config)[labels.message] : "";
  return message === undefined || message === "" ? undefined : maskLastWord(message, maskedIn(container));
}

/** The values that a container's log is not to have, as an inspection of it says. */
export function maskedIn({ Config }: JsonObject): readonly string[] {
  if (!isJsonObject(Config)) return [];
  const names = labelsOf(Config)[labels.masked]?.split(",") ?? [];
  const env = Array.isArray(Config["Env"]) ? Config["Env"] : [];
  const pairs = env.flatMap((pair) => (typeof pair === "string" ? [pair] : []));
  const variables = pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)] as const);
  return maskedValues(names, Object.fromEntries(variables));
}
