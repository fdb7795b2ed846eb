import { codeOf, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";

// What can fail on the way to a Kubernetes API, with what a person can do about it. Codes:
//   connection-refused  host-unknown  connection-timeout  connection-failed  request-timeout
//   certificate-untrusted  certificate-expired  certificate-name  not-tls
//   malformed-answer  client-closed  forward-failed
//   kubeconfig-missing  kubeconfig-invalid  kubeconfig-unsupported  credentials-failed
// Only connection-failed is worth trying again at once: there was a connection, and it broke.

/** OpenSSL's words for a chain that ends nowhere. */
const untrusted = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
]);
const unreachable = new Set(["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN"]);

/** A failed connection as one that says which server, what happened and what to do. */
export function connectionError(server: string, cause: unknown): SlipwayError {
  const code = codeOf(cause) ?? "";
  const fail = (name: string, message: string, hint?: string): SlipwayError =>
    new SlipwayError(name, message, hint === undefined ? { cause } : { cause, hint });
  if (code === "ECONNREFUSED" || code === "ENOENT")
    return fail("connection-refused", `no server listens at ${server}`, "is `slipway up` running?");
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return fail("host-unknown", `the host of ${server} is not known`, "check the server address in the kubeconfig");
  if (untrusted.has(code))
    return fail(
      "certificate-untrusted",
      `the certificate of ${server} is not signed by an authority the kubeconfig names (${code})`,
      "the server may have been set up anew; use the kubeconfig it writes",
    );
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID")
    return fail(
      "certificate-expired",
      `the certificate of ${server} is not valid now (${code})`,
      "check the clocks of both machines",
    );
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return fail("certificate-name", messageOf(cause), "connect by a name in the certificate, or set tls-server-name");
  if (code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return fail("not-tls", `${server} does not speak TLS as expected`, "is it an http:// address?");
  if (unreachable.has(code)) return fail("connection-timeout", `${server} cannot be reached (${code})`);
  return fail("connection-failed", `the connection to ${server} failed: ${messageOf(cause)}`);
}

/** No whole answer within the limit. Whether the request was done is not known. */
export const requestTimedOut = (server: string, limit: Millis): SlipwayError =>
  new SlipwayError("request-timeout", `${server} did not answer within ${limit / 1000} s`);

/** Something answered, but no Kubernetes API: a proxy, a login page, another service. */
export const malformedAnswer = (server: string, what: string): SlipwayError =>
  new SlipwayError("malformed-answer", `${server} answered with something else than a Kubernetes API does: ${what}`, {
    hint: "check that the server address is that of a Kubernetes API",
  });

/** A request after `close`, or one that `close` ended. */
export const clientClosed = (): SlipwayError => new SlipwayError("client-closed", "the client is closed");

/** None of the files is there; the message names them all. */
export const kubeconfigMissing = (files: readonly string[]): SlipwayError =>
  new SlipwayError("kubeconfig-missing", `there is no kubeconfig at ${files.join(" or ")}`, {
    hint: "`slipway up` writes one; or name one with --kubeconfig",
  });

/** A kubeconfig that cannot be used as it is; the message names the part. */
export const kubeconfigInvalid = (message: string, hint?: string): SlipwayError =>
  new SlipwayError("kubeconfig-invalid", message, hint === undefined ? {} : { hint });

/** A setting that exists but that Slipway does not know how to obey: refused, because ignoring it would connect wrongly. */
export const unsupportedSetting = (setting: string, why: string): SlipwayError =>
  new SlipwayError("kubeconfig-unsupported", `${setting} is not supported: ${why}`);

/** An exec plugin that gave no credentials. */
export const credentialsFailed = (
  command: string,
  message: string,
  options: { hint?: string; cause?: unknown } = {},
): SlipwayError => new SlipwayError("credentials-failed", `the credential command ${command} ${message}`, options);
