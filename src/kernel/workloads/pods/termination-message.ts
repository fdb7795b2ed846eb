import { open } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";
import { readLogs } from "#kernel/logs/index.ts";

const longestMessage = 4_096;
const longestFallback = 2_048;
const fallbackLines = 80;

/**
 * What a container that has ended says about its end: the start of its message file, 4 KiB at most; with the policy
 * FallbackToLogsOnError and no message of a failed container, the end of its log (80 lines, 2 KiB at most).
 */
export async function terminationMessage(options: {
  readonly outputPath: string;
  readonly logPath: string;
  readonly policy: string | undefined;
  readonly failed: boolean;
}): Promise<string> {
  const message = await startOf(options.outputPath);
  if (message !== "" || options.policy !== "FallbackToLogsOnError" || !options.failed) return message;
  let tail: Buffer = Buffer.alloc(0);
  for await (const piece of readLogs(options.logPath, { tailLines: fallbackLines })) {
    tail = Buffer.concat([tail, piece]).subarray(-longestFallback);
  }
  return textFrom(tail);
}

async function startOf(path: string): Promise<string> {
  try {
    const handle = await open(path, "r");
    try {
      const bytes = Buffer.alloc(longestMessage);
      const { bytesRead } = await handle.read(bytes, 0, longestMessage, 0);
      return textFrom(bytes.subarray(0, bytesRead));
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return "";
    throw thrown;
  }
}

/** A character cut in half at either end is left out, so that the text fits into its limit. */
const textFrom = (bytes: Buffer): string => bytes.toString("utf8").replace(/^\uFFFD+|\uFFFD+$/g, "");
