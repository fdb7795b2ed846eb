import type { Random } from "#lib/base/index.ts";
// Syntax of names, labels and annotation keys, as in apimachinery's `util/validation` (RFC 1123; lengths from RFC 1035
// 2.3.4). Each rule returns what is wrong, without the name, or undefined.
//
//     Deployment `my-app`            subdomain (DNS-1123, 253)     most kinds
//     Namespace `team-a`             label (DNS-1123, 63)          names that become part of a host name
//     label `example.com/tier: web`  qualified name, label value   prefix 253, name 63, value 63

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** What is wrong with a name, as the end of a sentence: `must be no more than 63 characters`. */
export type NameRule = (name: string) => string | undefined;

/** DNS labels with dots between them: `a.b-c.d`. As in Kubernetes, only the total length is limited. */
export const subdomainRule: NameRule = (name) => {
  if (name.length > 253) return "must be no more than 253 characters";
  if (subdomain.test(name)) return undefined;
  return 'must consist of lower case letters, digits, "-" and ".", and start and end with a letter or digit';
};

/** One DNS label: `a-b`, no dots. */
export const labelRule: NameRule = (name) => {
  if (name.length > 63) return "must be no more than 63 characters";
  if (label.test(name)) return undefined;
  return 'must consist of lower case letters, digits and "-", and start and end with a letter or digit';
};

/**
 * `[prefix/]name`, the form of label keys, annotation keys and finalizers. The prefix is a subdomain; the name may
 * contain capitals, `_` and `.`, but starts and ends with a letter or digit.
 */
export const qualifiedNameRule: NameRule = (text) => {
  const slash = text.indexOf("/");
  const name = text.slice(slash + 1);
  const prefix = slash < 0 ? undefined : text.slice(0, slash);
  if (prefix !== undefined && subdomainRule(prefix) !== undefined) {
    return "the part before the slash must be a lower case DNS name of at most 253 characters";
  }
  if (name.length > 63) return "the name must be no more than 63 characters";
  if (qualifiedPart.test(name)) return undefined;
  return 'the name must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit';
};

/** The value of a label. It may be empty, so `key=` in a selector differs from `!key`. */
export const labelValueRule: NameRule = (value) => {
  if (value.length > 63) return "must be no more than 63 characters";
  if (value === "" || qualifiedPart.test(value)) return undefined;
  return 'must be empty or consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit';
};

/** Whether a name is safe as one path segment. The weakest rule, for kinds such as roles (`system:node`). */
export const isPathSegment = (name: string): boolean => name !== "." && name !== ".." && !/[/%]/.test(name);

// Kubernetes' letters: without vowels, 0, 1 and 3, so that no suffix is a word or misread.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/**
 * A name from `generateName`: at most 58 characters of it and 5 random ones. `random` is uniform in [0, 1). The caller
 * retries if the name is taken.
 */
export function generatedName(base: string, random: Random): string {
  let suffix = "";
  for (let count = 0; count < 5; count++) suffix += suffixAlphabet[Math.floor(random() * suffixAlphabet.length)] ?? "b";
  return base.slice(0, 58) + suffix;
}
