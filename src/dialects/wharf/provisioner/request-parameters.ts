import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { boundedText, refuse } from "../http/index.ts";
import type { Parameters } from "./parameters.ts";

const mostBytes = 1024 * 1024;

export interface ParameterSource {
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Parameters in the query, a form or JSON; the body wins. */
export async function requestParameters({ query, contentType, body }: ParameterSource): Promise<Parameters> {
  const text = await boundedText(body, mostBytes, "parameters");
  const given = Object.fromEntries(query);
  if (text.trim() === "") return given;
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType))
    return { ...given, ...Object.fromEntries(new URLSearchParams(text)) };
  return { ...given, ...membersOf(text) };
}

function membersOf(text: string): Parameters {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (thrown) {
    // The parser's message may quote a token.
    throw refuse("unexpected-body-read-error", "expected the parameters as a form or as a JSON object", {
      cause: thrown,
    });
  }
  if (!isJsonObject(value)) throw refuse("unexpected-body-read-error", "expected a JSON object with the parameters");
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asText(member)]));
}

/** Maps are parsed again like texts. */
const asText = (value: JsonValue | undefined): string =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
