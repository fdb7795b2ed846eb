import { refuse } from "../http/problem.ts";

/** The SHA-256 in `Digest: sha-256=…` (RFC 3230; base64 or hexadecimal) or `Content-Digest: sha-256=:…:` (RFC 9530). */
export function announcedSha256(header: (name: string) => string | undefined): string {
  const text = [header("digest"), header("content-digest")].filter((one) => one !== undefined).join(",");
  const [, value = ""] = /(?:^|,)\s*sha-256=:?([^,:\s]+)/i.exec(text) ?? [];
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  const bytes = Buffer.from(value, "base64");
  if (bytes.length === 32 && /^[A-Za-z0-9+/_-]{43}=?$/.test(value)) return bytes.toString("hex");
  if (text === "") throw refuse("missing-param-string", "Digest: expected sha-256=… of the body");
  throw refuse("invalid-param", `Digest: expected sha-256=… of the body, found ${JSON.stringify(text.slice(0, 200))}`);
}
