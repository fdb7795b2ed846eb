import { err, ok, type Result } from "#lib/base/index.ts";

// Keeps away from Git: addresses that run helpers or look like options, and passwords, which would be in its
// arguments.

export interface SourceUrl {
  readonly url: string;
  readonly scheme: "https" | "http" | "ssh" | "git" | "file";
  readonly user?: string;
  readonly password?: string;
}

const taken = "https, http, ssh, git or user@host:path";

/** `user@host:path`: the first colon comes before any slash. */
const shortForm = /^(?:[^/@:]+@)?(?:\[[^\]/]+\]|[^/@:[\]]+):(?!:)(.*)$/;

export interface LocalRule {
  readonly allowLocal: boolean;
  /** The setting that allows local repositories, for the refusal. */
  readonly allowedBy?: string;
}

/** Undefined for repositories of this machine, and for hosts that a shell would read as more than a name. */
export function hostOf({ url, scheme }: SourceUrl): { readonly host: string; readonly port: string } | undefined {
  if (scheme === "file") return undefined;
  const short = /^(?:[^/@:]+@)?(\[[^\]/]+\]|[^/@:[\]]+):(?!\/\/)/.exec(url)?.[1];
  const full = short === undefined && URL.canParse(url) ? new URL(url) : undefined;
  const host = (short ?? full?.hostname ?? "").replace(/^\[|\]$/g, "").toLowerCase();
  return /^[\w.:-]+$/.test(host) ? { host, port: full?.port ?? "" } : undefined;
}

/** Validates an address; local ones only with `allowLocal`. Errors never repeat the address, which may contain a
 * password. */
export function readSourceUrl(
  text: string,
  { allowLocal, allowedBy = "a setting of the server" }: LocalRule,
): Result<SourceUrl, string> {
  if (text === "") return err("expected the address of a repository, found nothing");
  if (hasControl(text)) return err("expected an address without control characters");
  if (text.startsWith("-"))
    return err('expected an address, found one that begins with "-", which Git takes for an option');
  if (/^[A-Za-z0-9][A-Za-z0-9+.-]*::/.test(text))
    return err(`expected ${taken}; helpers of Git, as in ext::, are not run`);
  // Git and URL would disagree about the host.
  if (/\\|:\/\/\/(?!$)/.test(text) && !/^file:/i.test(text))
    return err("expected an address with a host, and without backslashes");
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return readSchemeless(text, { allowLocal, allowedBy });
  if (scheme === "file") return allowLocal ? ok({ url: text, scheme }) : err(noLocal(allowedBy));
  if (scheme !== "https" && scheme !== "http" && scheme !== "ssh" && scheme !== "git")
    return err(`expected ${taken}, found the scheme ${scheme}`);
  return readFull(text, scheme);
}

const noLocal = (allowedBy: string): string =>
  `expected ${taken}; repositories of this machine are only taken where ${allowedBy} says so`;

function readSchemeless(text: string, { allowLocal, allowedBy = "" }: LocalRule): Result<SourceUrl, string> {
  const path = shortForm.exec(text)?.[1];
  if (path !== undefined) {
    const host = text.slice(text.indexOf("@") + 1);
    if (path === "" || path.startsWith("-") || host.startsWith("-"))
      return err("expected a host and a path that Git does not take for options");
    return ok({ url: text, scheme: "ssh" });
  }
  if (!text.startsWith("/")) return err(`expected ${taken}, found neither a scheme nor a host`);
  return allowLocal ? ok({ url: text, scheme: "file" }) : err(noLocal(allowedBy));
}

function readFull(text: string, scheme: "https" | "http" | "ssh" | "git"): Result<SourceUrl, string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === "") return err("expected an address with a host");
  if (url.hostname.startsWith("-") || decoded(url.username).startsWith("-"))
    return err("expected a host and a user that Git does not take for options");
  const user = decoded(url.username);
  const password = decoded(url.password);
  // Credential helpers separate values by lines.
  if (hasControl(user + password)) return err("expected a user and a password without control characters");
  url.password = "";
  // SSH's user is part of the address; HTTP's is part of the credential.
  if (scheme === "http" || scheme === "https") url.username = "";
  const credential =
    scheme === "http" || scheme === "https" ? { ...(user && { user }), ...(password && { password }) } : {};
  return ok({ url: url.href, scheme, ...credential });
}

const withPassword = /^([a-z][a-z\d+.-]*:[/\\]*[^/\\?#:]*:)[^/\\?#]+(?=@)/i;

export const hasPassword = (url: string): boolean => withPassword.test(url);

export const withoutPassword = (url: string): string => url.replace(withPassword, "$1***");

// oxlint-disable-next-line no-control-regex -- They are what is looked for.
export const hasControl = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
