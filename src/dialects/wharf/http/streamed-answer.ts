import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Body, type Exchange, sendFile as sendFileTo, sendStream as sendStreamTo } from "#kernel/doors/index.ts";
import type { RestContext } from "./rest-api.ts";

export type { Body };

/** Answers of doors, with the headers that middleware has set. */
export async function sendStream(context: RestContext, answer: Parameters<typeof sendStreamTo>[1]): Promise<Response> {
  sendStreamTo(exchangeOf(context), answer);
  return RESPONSE_ALREADY_SENT;
}

export async function sendFile(context: RestContext, file: Parameters<typeof sendFileTo>[1]): Promise<Response> {
  sendFileTo(exchangeOf(context), file);
  return RESPONSE_ALREADY_SENT;
}

function exchangeOf({ env, res }: RestContext): Exchange {
  for (const [name, value] of res.headers) env.outgoing.setHeader(name, value);
  return { request: env.incoming, response: env.outgoing };
}
