import { isJsonObject, type SlipwayError } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { WatchEvent } from "./api-client.ts";
import { isKubeObject, typed } from "./decode.ts";
import { refusalInEvent } from "./refused-answer.ts";

/** Larger than any object an API stores, with room for its managed fields. */
const maxLineBytes = 32 * 2 ** 20;
const maxDepth = 1000;

// The wire form of a watch: one JSON object per line, `{"type":"ADDED","object":{…}}`, cut into chunks anywhere.

/**
 * Cuts a stream of bytes into lines without their newlines. A last line without one is an error: the stream was cut off in the
 * middle. `fail` makes the error to throw. Lines are views into the chunks where they are whole; they are good until the next is asked for
 * and cost no copy.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  fail: (what: string) => SlipwayError,
): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const piece = chunk.subarray(start, end);
      yield rest.length === 0 ? piece : Buffer.concat([...rest, piece]);
      rest = [];
      size = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    rest.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > maxLineBytes) throw fail(`a line of more than ${maxLineBytes} bytes`);
  }
  if (rest.length > 0) throw fail("a stream that was cut off in the middle of an event");
}

/** One line of a watch. Throws the ApiError of an ERROR event, and `fail(…)` for what is no event: nothing is skipped. */
export function readWatchLine<T extends KubeObject>(line: Buffer, fail: (what: string) => SlipwayError): WatchEvent<T> {
  const parsed = parseJson(line, { maxDepth });
  if (!parsed.ok) throw fail(`an event that is no JSON (${parsed.error.message})`);
  const event = parsed.value;
  if (!isJsonObject(event)) throw fail("an event that is no object");
  const { type, object } = event;
  if (type === "ERROR") throw refusalInEvent(object) ?? fail("an ERROR event without a Status");
  if (!isKubeObject(object)) throw fail("an event without a Kubernetes object");
  if (type === "BOOKMARK") return { type, object };
  if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") return { type, object: typed<T>(object) };
  throw fail(`an event of the unknown type ${JSON.stringify(type)}`);
}
