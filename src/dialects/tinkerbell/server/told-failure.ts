import { present } from "../members.ts";

// Normalizes reasons and messages of agents for conditions and events. Only length is lost.

/** A valid condition reason, but shorter. */
const word = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
/** In characters. */
const maxMessage = 4096;

export interface ToldFailure {
  readonly reason: string;
  readonly message: string;
}

/** A missing reason or message gets the default; an invalid reason becomes part of the message. */
export function toldFailure(reason: string, message: string, otherwise: ToldFailure): ToldFailure {
  const said = message === "" ? otherwise.message : message;
  if (reason === "") return { reason: otherwise.reason, message: cut(said) };
  if (word.test(reason)) return { reason, message: cut(said) };
  return { reason: "InvalidReason", message: cut(`${reason}: ${said}`) };
}

export function toldRejection(reason: string, message: string): { readonly reason?: string; readonly message: string } {
  if (reason === "" || word.test(reason)) return { message: cut(message), ...present({ reason: reason || undefined }) };
  return { message: cut(`${reason}: ${message}`) };
}

const cut = (text: string): string => (text.length > maxMessage ? `${text.slice(0, maxMessage - 1)}…` : text);
