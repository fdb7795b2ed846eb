import type { JsonValue } from "#lib/base/index.ts";

/** JSON, or tar: whole, or as it is made. What its maker throws ends the request, which rejects with just that. */
export type EngineBody = JsonValue | Buffer | AsyncIterable<Buffer>;

/** What is sent, and the headers that say so. */
export interface Payload {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly payload?: Buffer;
  readonly source?: Source;
}

/** What is sent for a body, none included. */
export function payloadOf(body: EngineBody | undefined): Payload {
  if (body === undefined) return { headers: { "content-length": 0 } };
  if (Buffer.isBuffer(body)) return whole("application/x-tar", body);
  if (isStreamed(body)) return { headers: { "content-type": "application/x-tar" }, source: new Source(body) };
  return whole("application/json", Buffer.from(JSON.stringify(body)));
}

/** It lasts as long as its maker takes. */
export const isStreamed = (body: EngineBody | undefined): body is AsyncIterable<Buffer> =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body;

const whole = (type: string, payload: Buffer): Payload => ({
  headers: { "content-type": type, "content-length": payload.length },
  payload,
});

/** A body that is made while it is sent. Remembers what its maker threw, which is no fault of the engine's. */
class Source {
  failure: { readonly thrown: unknown } | undefined;
  readonly #body: AsyncIterable<Buffer>;

  constructor(body: AsyncIterable<Buffer>) {
    this.#body = body;
  }

  async *bytes(): AsyncGenerator<Buffer, void> {
    try {
      for await (const chunk of this.#body) yield chunk;
    } catch (thrown) {
      this.failure = { thrown };
      throw thrown;
    }
  }
}
