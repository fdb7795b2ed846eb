// Names have at least two characters, as in the original.
const nameSyntax = /^\p{L}[\p{L}\p{N} _.-]+$/u;
const machineNameSyntax = /^[\p{L}\p{N}][\p{L}\p{N} _.-]+$/u;
const userNameSyntax = /^\p{L}[\p{L}\p{N} _.@-]+$/u;
const paramNameSyntax = /^\p{L}[\p{L}\p{N} _./-]+$/u;
const uuidSyntax = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const mac48 = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){2}|(?:\1[0-9a-f]{2}){14})?$/i;
const macDots = /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}(?:\.[0-9a-f]{4})?(?:(?:\.[0-9a-f]{4}){6})?$/i;
const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.|$)){4}$/;

const invalid = (what: string, name: string): readonly string[] => [`${what} \`${name}\``];
const checked =
  (syntax: RegExp) =>
  (what: string, name: string): readonly string[] =>
    syntax.test(name) ? [] : invalid(what, name);

/** Each returns no message, or one such as ``Invalid Name `x` ``. */
export const nameErrors = checked(nameSyntax);
export const machineNameErrors = checked(machineNameSyntax);
export const userNameErrors = checked(userNameSyntax);
export const paramNameErrors = checked(paramNameSyntax);

export const isUuid = (text: string): boolean => uuidSyntax.test(text);
export const isMac = (text: string): boolean => mac48.test(text) || macDots.test(text);
export const isIpv4 = (text: string): boolean => ipv4.test(text) && !text.endsWith(".");

/** Architectures and their aliases. */
const architectures: Readonly<Record<string, readonly string[]>> = {
  amd64: ["x86_64"],
  "386": ["486", "686", "i386", "i486", "i686"],
  arm: ["armel", "armhfp"],
  arm64: ["aarch64"],
  rpi4: [],
  ppc64: ["power9"],
  ppc64le: [],
  mips: [],
  mipsle: ["mipsel"],
  mips64: [],
  mips64le: ["mips64el"],
  s390x: [],
};

export const isArchitecture = (name: string): boolean => Object.hasOwn(architectures, name);

export function architectureErrors(name: string): readonly string[] {
  if (isArchitecture(name)) return [];
  const folded = name.toLowerCase();
  const known = Object.entries(architectures).find(([arch, aliases]) => arch === folded || aliases.includes(folded));
  return [known === undefined ? `Unsupported arch ${name}` : `Please use ${known[0]} for Arch instead of ${name}`];
}
