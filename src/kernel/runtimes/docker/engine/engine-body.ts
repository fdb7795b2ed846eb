import type { JsonValue } from "#lib/base/index.ts";

/** JSON, or tar: whole, or as it is made. A failure of the maker ends the request, which rejects with it. */
export type EngineBody = JsonValue | Buffer | AsyncIterable<Buffer>;

export interface Payload {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly payload?: Buffer;
  readonly source?: Source;
}

export function payloadOf(body: EngineBody | undefined): Payload {
  if (body === undefined) return { headers: { "content-length": 0 } };
  if (Buffer.isBuffer(body)) return whole("application/x-tar", body);
  if (isStreamed(body)) return { headers: { "content-type": "application/x-tar" }, source: new Source(body) };
  return whole("application/json", Buffer.from(JSON.stringify(body)));
}

export const isStreamed = (body: EngineBody | undefined): body is AsyncIterable<Buffer> =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body;

const whole = (type: string, payload: Buffer): Payload => ({
  headers: { "content-type": type, "content-length": payload.length },
  payload,
});

/** Remembers what its maker threw, which is not the engine's fault. */
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
