import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { boundedText, refuse } from "../http/index.ts";
import type { Parameters } from "./parameters.ts";

/** All parameters together, inputs included, are far smaller. */
const mostBytes = 1024 * 1024;

/** As a request brings them; `body` may come in parts. */
export interface ParameterSource {
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * The parameters of a request: in its query, where released callers have them, as a form or as JSON. Those of the body win. Refuses what is
 * neither, and what is too large, before it is all there.
 */
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
    // What the parser says may quote the text, and with it a token.
    throw refuse("unexpected-body-read-error", "expected the parameters as a form or as a JSON object", {
      cause: thrown,
    });
  }
  if (!isJsonObject(value)) throw refuse("unexpected-body-read-error", "expected a JSON object with the parameters");
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asText(member)]));
}

/** Maps are read again, as they are where they come as text. */
const asText = (value: JsonValue | undefined): string =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
