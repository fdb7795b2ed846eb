import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { codeOf, type Instant } from "#lib/base/index.ts";
import { makeDirectories, refuseShared, replaceFile } from "#lib/base/index.node.ts";
import { createSelfSigned, type KeyPair } from "./x509.ts";

const renewBeforeMs = 30 * 86_400_000;

/**
 * The self-signed certificate in `directory`, made if it is missing, damaged or expires within a month. For clients that
 * do not verify names. Rejects with `insecure-permissions` for a key that other users can read.
 */
export async function ensureSelfSigned(
  directory: string,
  now: Instant,
  names: readonly string[] = [],
): Promise<KeyPair> {
  await makeDirectories(directory, 0o700);
  const [certFile, keyFile] = [join(directory, "server.crt"), join(directory, "server.key")];
  const old = await readPair(certFile, keyFile);
  if (old !== undefined && isFresh(old, now)) return old;
  const wanted = [...new Set(["localhost", "127.0.0.1", "::1", hostname(), ...names])];
  const made = await createSelfSigned(wanted, now);
  await replaceFile(keyFile, made.key);
  await replaceFile(certFile, made.cert);
  return made;
}

async function readPair(certFile: string, keyFile: string): Promise<KeyPair | undefined> {
  try {
    await refuseShared(keyFile);
    const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
    return { cert, key };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

function isFresh({ cert, key }: KeyPair, now: Instant): boolean {
  try {
    const certificate = new X509Certificate(cert);
    return Date.parse(certificate.validTo) - now > renewBeforeMs && certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    // Damaged: a new pair replaces it.
    return false;
  }
}
