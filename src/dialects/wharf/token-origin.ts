import { isJsonObject, type JsonObject } from "#lib/base/index.ts";

// A stored token belongs to the server it was given for: changing a project's address must not send the token
// elsewhere.

/** Annotation of a token's Secret: the only origin the token is sent to. Set on first use, removed when the token is
 * stored again. */
export const originAnnotation = "wharf.slipway.dev/token-origin";

/** The server of a repository address: `https://git.example`, `ssh://git.example` or `file:`; empty without an address.
 */
export function originOf(gitUrl: string): string {
  if (gitUrl === "") return "";
  const [, scheme = "", rest = ""] = /^(https?|ssh|git):\/\/(.*)$/is.exec(gitUrl) ?? [];
  if (scheme !== "" && URL.canParse(`http://${rest}`))
    return `${scheme.toLowerCase()}://${new URL(`http://${rest}`).host}`;
  const host = /^(?:[^/@]*@)?([^/:]+):/.exec(gitUrl)?.[1];
  return host === undefined || /^file:/i.test(gitUrl) ? "file:" : `ssh://${host.toLowerCase()}`;
}

function addressIn({ gitUrl, overrides }: JsonObject): string {
  const override = isJsonObject(overrides) ? overrides["gitUrl"] : undefined;
  if (typeof override === "string" && override !== "") return override;
  return typeof gitUrl === "string" ? gitUrl : "";
}

export function movedToken(before: JsonObject, after: JsonObject): string | undefined {
  const token = before["tokenSecretRef"];
  const [from, to] = [originOf(addressIn(before)), originOf(addressIn(after))];
  if (token === undefined || from === "" || from === to) return undefined;
  if (JSON.stringify(token) !== JSON.stringify(after["tokenSecretRef"])) return undefined;
  // An empty address now would allow any address later.
  if (to === "") return `the project's token is for ${from}; remove it together with the address (spec.tokenSecretRef)`;
  return `the project's token is for ${from}; name a token for ${to} (tokenId, spec.tokenSecretRef), or none`;
}

export const tokenIsFor = (name: string, bound: string, origin: string): string =>
  `the token in Secret ${name} is for ${bound} and is not sent to ${origin}; store the token again, or name another one`;
