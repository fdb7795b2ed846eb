import { nearest } from "#lib/text/index.ts";
import { UsageError } from "./exit-codes.ts";

/** The first word of commands that do several things with one kind of object. Throws a UsageError with a suggestion. */
export function actionWord<W extends string>(words: readonly W[], found: string): W {
  const word = words.find((known) => known === found);
  if (word !== undefined) return word;
  const close = nearest(found, words);
  const meant = close === undefined ? "" : `; did you mean ${close}?`;
  throw new UsageError(`expected one of ${words.join(", ")}, found "${found}"${meant}`);
}
