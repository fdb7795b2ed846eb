import { readLogs } from "#kernel/streams/index.ts";
import { outputVariable } from "#kernel/model/index.ts";
import { longestLastWord, readLastWord } from "#kernel/runtimes/index.ts";
import type { Container, PodObject } from "../pod-types.ts";

// Kubernetes' limits, in bytes and lines.
const longestMessage = 4_096;
const longestFallback = 2_048;
const fallbackLines = 80;

/** The termination message: the file's start or, by FallbackToLogsOnError, the log's end. Never fails by the file. */
export async function terminationMessage(options: {
  readonly outputPath: string;
  readonly logPath: string;
  readonly policy: string | undefined;
  /** Default: Kubernetes' 4 KiB. */
  readonly maxBytes?: number | undefined;
  readonly failed: boolean;
}): Promise<string> {
  const message = textFrom(
    (await readLastWord(options.outputPath, options.maxBytes ?? longestMessage)) ?? Buffer.alloc(0),
  );
  if (message !== "" || options.policy !== "FallbackToLogsOnError" || !options.failed) return message;
  let tail: Buffer = Buffer.alloc(0);
  for await (const piece of readLogs(options.logPath, { tailLines: fallbackLines })) {
    tail = Buffer.concat([tail, piece]).subarray(-longestFallback);
  }
  return textFrom(tail);
}

/** The limit for the one container of a Pod whose document has outputs; undefined for Kubernetes' rule. */
export function longestOutputs({ spec }: PodObject, { name, env = [] }: Container): number | undefined {
  const main = spec.containers.find((container) => container.name === "main") ?? spec.containers[0];
  return main?.name === name && env.some((variable) => variable.name === outputVariable) ? longestLastWord : undefined;
}

/** A character cut in half is dropped. */
const textFrom = (bytes: Buffer): string => bytes.toString("utf8").replace(/^\uFFFD+|\uFFFD+$/g, "");
