import type { JsonValue } from "#lib/base/index.ts";

const longestLine = 1024 * 1024;

/** The values of a stream, one per line (CR LF or LF, the last one possibly without). Throws for other lines. */
export async function* jsonLines(source: AsyncIterable<Uint8Array>): AsyncIterable<JsonValue> {
  const decoder = new TextDecoder();
  let held = "";
  for await (const chunk of source) {
    held += decoder.decode(chunk, { stream: true });
    const lines = held.split("\n");
    held = lines.pop() ?? "";
    if (held.length > longestLine) throw new Error("a line of the engine's answer has no end");
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as JsonValue;
  }
  if (held.trim() !== "") yield JSON.parse(held) as JsonValue;
}
