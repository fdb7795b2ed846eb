// Syntax of names, labels and annotation keys. Each function answers with what is wrong, or undefined.

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export type NameRule = (name: string) => string | undefined;

export const subdomainRule: NameRule = (name) => {
  if (name.length > 253) return "must be no more than 253 characters";
  if (subdomain.test(name)) return undefined;
  return 'must consist of lower case letters, digits, "-" and ".", and start and end with a letter or digit';
};

export const labelRule: NameRule = (name) => {
  if (name.length > 63) return "must be no more than 63 characters";
  if (label.test(name)) return undefined;
  return 'must consist of lower case letters, digits and "-", and start and end with a letter or digit';
};

/** `[prefix/]name`, the form of label keys, annotation keys and finalizers. */
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

export const labelValueRule: NameRule = (value) => {
  if (value.length > 63) return "must be no more than 63 characters";
  if (value === "" || qualifiedPart.test(value)) return undefined;
  return 'must be empty or consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit';
};

/** What a path segment may be, for names that reach us by URL. */
export const isPathSegment = (name: string): boolean => name !== "." && name !== ".." && !/[/%]/.test(name);

const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/** A name made from `generateName`: at most 58 characters of it and 5 random ones. */
export function generatedName(base: string, random: () => number): string {
  let suffix = "";
  for (let count = 0; count < 5; count++) suffix += suffixAlphabet[Math.floor(random() * suffixAlphabet.length)] ?? "b";
  return base.slice(0, 58) + suffix;
}
