import { present } from "../members.ts";

// Words of agents become conditions and events of Kubernetes, and a part of an object that everybody reads. Agents may be anybody's, so that what they say is
// brought into the form that these have, and nothing of it is lost but length.

/** What conditions take for a reason, and a bit shorter. */
const word = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
/** Characters of a message; events are shorter still. */
const maxMessage = 4096;

/** Why something has failed, as it is stored. */
export interface ToldFailure {
  readonly reason: string;
  readonly message: string;
}

/** A failure as an agent tells it: without a reason it has the usual one, and a reason that is no word is a part of the message. */
export function toldFailure(reason: string, message: string, otherwise: ToldFailure): ToldFailure {
  const said = message === "" ? otherwise.message : message;
  if (reason === "") return { reason: otherwise.reason, message: cut(said) };
  if (word.test(reason)) return { reason, message: cut(said) };
  return { reason: "InvalidReason", message: cut(`${reason}: ${said}`) };
}

/** A rejection has no reason where none is told. */
export function toldRejection(reason: string, message: string): { readonly reason?: string; readonly message: string } {
  if (reason === "" || word.test(reason)) return { message: cut(message), ...present({ reason: reason || undefined }) };
  return { message: cut(`${reason}: ${message}`) };
}

const cut = (text: string): string => (text.length > maxMessage ? `${text.slice(0, maxMessage - 1)}…` : text);
