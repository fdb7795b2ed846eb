import { codeOf, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";

// Failures on the way to a Kubernetes API. Only connection-failed is worth an immediate retry: an established
// connection broke.

/** OpenSSL's codes for an untrusted chain. */
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

/** Whether the request was done is unknown. */
export const requestTimedOut = (server: string, limit: Millis): SlipwayError =>
  new SlipwayError("request-timeout", `${server} did not answer within ${limit / 1000} s`);

/** Something other than a Kubernetes API answered: a proxy, a login page. */
export const malformedAnswer = (server: string, what: string): SlipwayError =>
  new SlipwayError("malformed-answer", `${server} answered with something else than a Kubernetes API does: ${what}`, {
    hint: "check that the server address is that of a Kubernetes API",
  });

export const clientClosed = (): SlipwayError => new SlipwayError("client-closed", "the client is closed");

export const kubeconfigMissing = (files: readonly string[]): SlipwayError =>
  new SlipwayError("kubeconfig-missing", `there is no kubeconfig at ${files.join(" or ")}`, {
    hint: "`slipway up` writes one; or name one with --kubeconfig",
  });

export const kubeconfigInvalid = (message: string, hint?: string): SlipwayError =>
  new SlipwayError("kubeconfig-invalid", message, hint === undefined ? {} : { hint });

/** Ignoring the setting would connect in a wrong way. */
export const unsupportedSetting = (setting: string, why: string): SlipwayError =>
  new SlipwayError("kubeconfig-unsupported", `${setting} is not supported: ${why}`);

export const credentialsFailed = (
  command: string,
  message: string,
  options: { hint?: string; cause?: unknown } = {},
): SlipwayError => new SlipwayError("credentials-failed", `the credential command ${command} ${message}`, options);
