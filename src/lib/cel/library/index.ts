import { formatFunctions } from "./format.ts";
import type { LibraryFunction } from "./function.ts";
import { listFunctions } from "./lists.ts";
import { CelCidr, CelIp, isSameCidr, isSameIp, networkFunctions } from "./networks.ts";
import { mixedOperators, numberFunctions } from "./numbers.ts";
import { CelQuantity, isSameQuantity, quantityFunctions } from "./quantities.ts";
import { regexFunctions } from "./regex.ts";
import { stringFunctions } from "./strings.ts";
import { timeFunctions } from "./times.ts";
import { CelUrl, isSameUrl, urlFunctions } from "./urls.ts";

export type { LibraryFunction } from "./function.ts";

/** Everything expressions can call besides the functions of the CEL library. */
export const libraryFunctions: readonly LibraryFunction[] = [
  ...stringFunctions,
  ...formatFunctions,
  ...regexFunctions,
  ...listFunctions,
  ...numberFunctions,
  ...timeFunctions,
  ...quantityFunctions,
  ...urlFunctions,
  ...networkFunctions,
];

type Constructor = abstract new (...args: never[]) => unknown;

export const libraryTypes: readonly (readonly [string, Constructor])[] = [
  ["kubernetes.Quantity", CelQuantity],
  ["kubernetes.URL", CelUrl],
  ["net.IP", CelIp],
  ["net.CIDR", CelCidr],
];

export const libraryOperators: readonly (readonly [string, (a: unknown, b: unknown) => unknown])[] = [
  ...mixedOperators,
  ["kubernetes.Quantity == kubernetes.Quantity", isSameQuantity],
  ["kubernetes.URL == kubernetes.URL", isSameUrl],
  ["net.IP == net.IP", isSameIp],
  ["net.CIDR == net.CIDR", isSameCidr],
];
