import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { codeOf, type Instant } from "#lib/base/index.ts";
import { makeDirectories, refuseShared, replaceFile } from "#lib/base/index.node.ts";
import type { KeyPair } from "./x509.ts";

const renewBeforeMs = 30 * 86_400_000;

/** Importing the library takes a quarter of a second. */
export const loadX509 = () => import("./x509.ts");

/**
 * The certificate that a service signed itself, kept as `name.crt` and `name.key` in `dir`, which becomes private. Made
 * with the first call, and again if it is damaged, nearly over, or misses one of `names` or of this machine's. Rejects
 * with `insecure-permissions`.
 */
export async function selfSignedPair(
  dir: string,
  name: string,
  now: Instant,
  names: readonly string[] = [],
): Promise<KeyPair> {
  await makeDirectories(dir, 0o700);
  await refuseShared(dir);
  const wanted = [...new Set(["localhost", "127.0.0.1", "::1", hostname(), ...names])];
  const old = await readPair(dir, name);
  if (isFresh(old, now) && servesNames(old, wanted)) return old;
  const { createSelfSigned } = await loadX509();
  return writePair(dir, name, await createSelfSigned(wanted, now));
}

/** Is the pair complete and valid for another month? */
export function isFresh(pair: KeyPair | undefined, now: Instant): pair is KeyPair {
  if (pair === undefined) return false;
  try {
    const certificate = new X509Certificate(pair.cert);
    return (
      Date.parse(certificate.validTo) - now > renewBeforeMs && certificate.checkPrivateKey(createPrivateKey(pair.key))
    );
  } catch {
    return false;
  }
}

/** Is the certificate valid for all these names and addresses? */
export function servesNames(pair: KeyPair, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pair.cert);
  const carries = (name: string) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name));
  return names.every((name) => carries(name) !== undefined);
}

/** Is the certificate of this authority? */
export const isOf = (pair: KeyPair, authority: KeyPair): boolean =>
  new X509Certificate(pair.cert).verify(new X509Certificate(authority.cert).publicKey);

/** Undefined when a file is missing. Refuses a key that others can read. */
export async function readPair(dir: string, name: string): Promise<KeyPair | undefined> {
  try {
    const [certFile, keyFile] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)];
    await refuseShared(keyFile);
    const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
    return { cert, key };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

export async function writePair(dir: string, name: string, pair: KeyPair): Promise<KeyPair> {
  // The key first: a certificate without its key would be trusted.
  await replaceKey(join(dir, `${name}.key`), pair.key);
  await replaceKey(join(dir, `${name}.crt`), pair.cert);
  return pair;
}

/** For its owner only. */
export const replaceKey = (file: string, pem: string): Promise<void> =>
  replaceFile(file, pem, { draft: `${file}.tmp` });
