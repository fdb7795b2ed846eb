import { err, ok, type Result } from "#lib/base/index.ts";

// Git runs programs for some addresses, takes others for options, and would put a password that stands in one into its argument list: none of
// those reach it.

/** Where a repository is cloned from. */
export interface SourceUrl {
  /** As Git is told: without a user of HTTP and without any password. */
  readonly url: string;
  readonly scheme: "https" | "http" | "ssh" | "git" | "file";
  /** Who asks, where HTTP's address has said so. */
  readonly user?: string;
  /** What stood behind the user. */
  readonly password?: string;
}

const taken = "https, http, ssh, git or user@host:path";

/** `user@host:path`, as `ssh` and `scp` have it: the first colon comes before any slash. */
const shortForm = /^(?:[^/@:]+@)?(?:\[[^\]/]+\]|[^/@:[\]]+):(?!:)(.*)$/;

/**
 * The address of a repository, or why it is not taken. Local paths and `file:` are this machine's, and only taken where `allowLocal` says so.
 * The text is a stranger's, and what is said of it never repeats it: it may hold a password.
 */
export function readSourceUrl(
  text: string,
  { allowLocal }: { readonly allowLocal: boolean },
): Result<SourceUrl, string> {
  if (text === "") return err("expected the address of a repository, found nothing");
  if (hasControl(text)) return err("expected an address without control characters");
  if (text.startsWith("-"))
    return err('expected an address, found one that begins with "-", which Git takes for an option');
  if (/^[A-Za-z0-9][A-Za-z0-9+.-]*::/.test(text))
    return err(`expected ${taken}; helpers of Git, as in ext::, are not run`);
  // Git and the reader of addresses below would not agree on which host they name.
  if (/\\|:\/\/\/(?!$)/.test(text) && !/^file:/i.test(text))
    return err("expected an address with a host, and without backslashes");
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return readSchemeless(text, allowLocal);
  if (scheme === "file") return allowLocal ? ok({ url: text, scheme }) : err(noLocal);
  if (scheme !== "https" && scheme !== "http" && scheme !== "ssh" && scheme !== "git")
    return err(`expected ${taken}, found the scheme ${scheme}`);
  return readFull(text, scheme);
}

const noLocal = `expected ${taken}; repositories of this machine are only taken where provisioner.allowLocalRepos says so`;

function readSchemeless(text: string, allowLocal: boolean): Result<SourceUrl, string> {
  const path = shortForm.exec(text)?.[1];
  if (path !== undefined) {
    const host = text.slice(text.indexOf("@") + 1);
    if (path === "" || path.startsWith("-") || host.startsWith("-"))
      return err("expected a host and a path that Git does not take for options");
    return ok({ url: text, scheme: "ssh" });
  }
  if (!text.startsWith("/")) return err(`expected ${taken}, found neither a scheme nor a host`);
  return allowLocal ? ok({ url: text, scheme: "file" }) : err(noLocal);
}

function readFull(text: string, scheme: "https" | "http" | "ssh" | "git"): Result<SourceUrl, string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === "") return err("expected an address with a host");
  if (url.hostname.startsWith("-") || decoded(url.username).startsWith("-"))
    return err("expected a host and a user that Git does not take for options");
  const user = decoded(url.username);
  const password = decoded(url.password);
  // In what Git and its helpers say to each other a line end begins the next word.
  if (hasControl(user + password)) return err("expected a user and a password without control characters");
  url.password = "";
  // The user of SSH is part of where to go; that of HTTP is part of the credential, and often is the token itself.
  if (scheme === "http" || scheme === "https") url.username = "";
  const credential =
    scheme === "http" || scheme === "https" ? { ...(user && { user }), ...(password && { password }) } : {};
  return ok({ url: url.href, scheme, ...credential });
}

/** Everything before the password of an address, and the password. */
const withPassword = /^([a-z][a-z\d+.-]*:[/\\]*[^/\\?#:]*:)[^/\\?#]+(?=@)/i;

/** Whether a password stands in an address, which whoever sees it can read then. */
export const hasPassword = (url: string): boolean => withPassword.test(url);

/** The address with stars instead of its password. */
export const withoutPassword = (url: string): string => url.replace(withPassword, "$1***");

/** Whether there are characters that terminals and line protocols act on. */
// oxlint-disable-next-line no-control-regex -- They are what is looked for.
export const hasControl = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text);

/** What is not properly escaped is meant as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
