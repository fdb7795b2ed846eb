import { err, ok, type Result } from "#lib/base/index.ts";

export interface Shard {
  readonly index: number;
  readonly of: number;
}

export const wholeShard: Shard = { index: 1, of: 1 };

export function parseShard(text: string): Result<Shard, string> {
  const [, index, of] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []).map(Number);
  if (index !== undefined && of !== undefined && index >= 1 && index <= of) return ok({ index, of });
  return err(`expected K/N with K from 1 to N, as in 2/3, found ${JSON.stringify(text)}`);
}

/** The uid modulo the count, as in RFC-0025; FNV-1a for other uids. */
export const isOfShard = (uid: string, { index, of }: Shard): boolean =>
  Number(numberOf(uid) % BigInt(of)) === index - 1;

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const numberOf = (uid: string): bigint => (uuid.test(uid) ? BigInt(`0x${uid.replaceAll("-", "")}`) : fnv1a(uid));

function fnv1a(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}
