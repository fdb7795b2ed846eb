import { formatFunctions } from "./format.ts";
import type { LibraryFunction } from "./function.ts";
import { listFunctions } from "./lists.ts";
import { CelCidr, CelIp, IpNamespace, ipNamespace, isSameCidr, isSameIp, networkFunctions } from "./networks.ts";
import { mixedOperators, numberFunctions } from "./numbers.ts";
import { CelQuantity, isSameQuantity, quantityFunctions } from "./quantities.ts";
import { regexFunctions } from "./regex.ts";
import { stringFunctions } from "./strings.ts";
import { timeFunctions } from "./times.ts";
import { CelUrl, isSameUrl, urlFunctions } from "./urls.ts";

export { asInteger, laterCharge, matchStepsPerUnit } from "./function.ts";
export type { LibraryFunction } from "./function.ts";

/**
 * Everything expressions can call besides the functions of the CEL library. A function of a name that the CEL library
 * has too must be given with all its overloads, because calls of that name no longer reach the CEL library.
 */
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

// Classes of values only; the CEL library makes a type of each and asks `instanceof`.
type Constructor = abstract new (...args: never[]) => unknown;

/** CEL names of the types behind our values, as Kubernetes names them. */
export const libraryTypes: readonly (readonly [string, Constructor])[] = [
  ["kubernetes.Quantity", CelQuantity],
  ["kubernetes.URL", CelUrl],
  ["net.IP", CelIp],
  ["net.CIDR", CelCidr],
  ["IpNamespace", IpNamespace],
];

/** Names that stand for a value in every environment, unless it has a variable of that name: name, CEL type, value. */
export const libraryConstants: readonly (readonly [string, string, unknown])[] = [["ip", "IpNamespace", ipNamespace]];

/** Operators the CEL library lacks. Equality of two values of a class is told by their contents, not by identity. */
export const libraryOperators: readonly (readonly [string, (a: unknown, b: unknown) => unknown])[] = [
  ...mixedOperators,
  ["kubernetes.Quantity == kubernetes.Quantity", isSameQuantity],
  ["kubernetes.URL == kubernetes.URL", isSameUrl],
  ["net.IP == net.IP", isSameIp],
  ["net.CIDR == net.CIDR", isSameCidr],
];
