import { X509Certificate } from "node:crypto";
import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { codeOf, type Instant, SlipwayError } from "#lib/base/index.ts";
import type { KeyPair } from "./x509.ts";

/** What a listener needs, and the authority its clients must trust. All PEM. */
export interface ServingCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const renewBeforeMs = 30 * 86_400_000;

/**
 * The certificates kept in `dir`, made at the first call and renewed when they have less than 30 days left or lack one of
 * `names`. The directory is 0700 and its files 0600; refuses keys that others can read (`insecure-permissions`).
 */
export async function ensureCertificates(
  dir: string,
  now: Instant,
  names: readonly string[] = [],
): Promise<ServingCertificates> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await refuseOpenTo(dir);
  const wanted = [...new Set(["localhost", "127.0.0.1", "::1", hostname(), ...names])];
  const oldAuthority = await readPair(dir, "ca");
  const authority = isFresh(oldAuthority, now) ? oldAuthority : await makeAuthority(dir, now);
  const oldServing = await readPair(dir, "server");
  const usable = isFresh(oldServing, now) && serves(oldServing, authority, wanted);
  const serving = usable ? oldServing : await makeServing(dir, authority, wanted, now);
  return { ca: authority.cert, cert: serving.cert, key: serving.key };
}

async function makeAuthority(dir: string, now: Instant): Promise<KeyPair> {
  const { createAuthority } = await import("./x509.ts");
  return writePair(dir, "ca", await createAuthority(now, "slipway-ca"));
}

async function makeServing(dir: string, authority: KeyPair, names: readonly string[], now: Instant): Promise<KeyPair> {
  const { createServing } = await import("./x509.ts");
  return writePair(dir, "server", await createServing(authority, names, now));
}

function isFresh(pair: KeyPair | undefined, now: Instant): pair is KeyPair {
  if (pair === undefined) return false;
  try {
    return Date.parse(new X509Certificate(pair.cert).validTo) - now > renewBeforeMs;
  } catch {
    // A damaged file is replaced like an old one.
    return false;
  }
}

function serves(pair: KeyPair, authority: KeyPair, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pair.cert);
  const issuer = new X509Certificate(authority.cert);
  if (!certificate.verify(issuer.publicKey)) return false;
  const carries = (name: string) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name));
  return names.every((name) => carries(name) !== undefined);
}

async function readPair(dir: string, name: string): Promise<KeyPair | undefined> {
  try {
    const [certFile, keyFile] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)];
    await refuseOpenTo(keyFile);
    const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
    return { cert, key };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

async function writePair(dir: string, name: string, pair: KeyPair): Promise<KeyPair> {
  // The key first: a certificate without its key would be believed.
  await replace(join(dir, `${name}.key`), pair.key);
  await replace(join(dir, `${name}.crt`), pair.cert);
  return pair;
}

async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.tmp`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

async function refuseOpenTo(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0) return;
  throw new SlipwayError(
    "insecure-permissions",
    `${path} can be used by other users of this machine (mode ${(mode & 0o777).toString(8)})`,
    {
      hint: `chmod go= ${path}`,
    },
  );
}
