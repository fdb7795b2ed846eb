import { isJsonObject, type JsonObject } from "#lib/base/index.ts";

// A stored token belongs to the server that it was given for. Whoever can change the address of a project, or make another project, must not be able to
// have the token sent elsewhere.

/** On a Secret with a token: the only origin that it is sent to. Set when the token is first used, removed when its value is given again. */
export const originAnnotation = "wharf.slipway.dev/token-origin";

/** The server of a repository's address: `https://git.example`, `ssh://git.example`, or `file:` for this machine; empty without an address. */
export function originOf(gitUrl: string): string {
  if (gitUrl === "") return "";
  const [, scheme = "", rest = ""] = /^(https?|ssh|git):\/\/(.*)$/is.exec(gitUrl) ?? [];
  if (scheme !== "" && URL.canParse(`http://${rest}`))
    return `${scheme.toLowerCase()}://${new URL(`http://${rest}`).host}`;
  const host = /^(?:[^/@]*@)?([^/:]+):/.exec(gitUrl)?.[1];
  return host === undefined || /^file:/i.test(gitUrl) ? "file:" : `ssh://${host.toLowerCase()}`;
}

/** The address that a project's specification gives to clone from. */
function addressIn({ gitUrl, overrides }: JsonObject): string {
  const override = isJsonObject(overrides) ? overrides["gitUrl"] : undefined;
  if (typeof override === "string" && override !== "") return override;
  return typeof gitUrl === "string" ? gitUrl : "";
}

/** Why a change of a project would send its stored token to another server; undefined if it would not. */
export function movedToken(before: JsonObject, after: JsonObject): string | undefined {
  const token = before["tokenSecretRef"];
  const [from, to] = [originOf(addressIn(before)), originOf(addressIn(after))];
  if (token === undefined || from === "" || from === to) return undefined;
  if (JSON.stringify(token) !== JSON.stringify(after["tokenSecretRef"])) return undefined;
  // A second change could send it anywhere.
  if (to === "") return `the project's token is for ${from}; remove it together with the address (spec.tokenSecretRef)`;
  return `the project's token is for ${from}; name a token for ${to} (tokenId, spec.tokenSecretRef), or none`;
}

/** What to say of a token that is for another server than the one it would be sent to. */
export const tokenIsFor = (name: string, bound: string, origin: string): string =>
  `the token in Secret ${name} is for ${bound} and is not sent to ${origin}; store the token again, or name another one`;
