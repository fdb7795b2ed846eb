import { isJsonObject, type SlipwayError } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { WatchEvent } from "./api-client.ts";
import { isKubeObject, typed } from "./decode.ts";
import { refusalInEvent } from "./refused-answer.ts";

/** Larger than any stored object with its managed fields. */
const maxLineBytes = 32 * 2 ** 20;
const maxDepth = 1000;

/** Cuts a stream into lines, views valid until the next one. A last line without a newline is an error. */
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

/** Throws the ApiError of an ERROR event, and `fail(…)` for anything else that is not an event. */
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
