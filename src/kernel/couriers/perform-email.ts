import { createTransport } from "nodemailer";
import { isJsonObject, messageOf } from "#lib/base/index.ts";
import type { EffectAnswer, OutsideRequest } from "./courier.ts";
import { EgressRules } from "./egress.ts";

export type EmailRequest = Extract<OutsideRequest, { kind: "email" }>;

const implicitTls = 465;
const limitMs = 30_000;

/**
 * TLS from the start on port 465, else STARTTLS if the server offers it. Without a password nobody logs in.
 * Until the text is sent, and after the server has refused it, nothing was delivered.
 */
export async function performEmail(request: EmailRequest, denied: readonly string[]): Promise<EffectAnswer> {
  const rules = new EgressRules(denied);
  const refusal = rules.refusal(request.host) ?? (await lookedUp(rules, request.host));
  if (refusal !== undefined) return { ok: false, message: refusal };
  const { username: user, password: pass } = request;
  let isSent = false;
  const transport = createTransport({
    host: request.host,
    port: request.port,
    secure: request.port === implicitTls,
    ...(pass === "" ? {} : { auth: { user, pass } }),
    connectionTimeout: limitMs,
    greetingTimeout: limitMs,
    socketTimeout: limitMs,
    debug: true,
    logger: listener((command) => (isSent ||= command === "DATA")),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { address, alias = "" } = request.from;
    await transport.sendMail({
      from: alias === "" ? address : { name: alias, address },
      to: [...request.to],
      subject: request.subject,
      // Bodies of mails are HTML.
      html: request.body,
    });
    return { ok: true, value: {} };
  } catch (thrown) {
    const message = `mail server ${request.host}:${request.port}: ${messageOf(thrown)}`;
    const isRefused = isJsonObject(thrown) && typeof thrown["responseCode"] === "number";
    return { ok: false, message, ...(isSent && !isRefused ? { isDone: true } : {}) };
  } finally {
    transport.close();
  }
}

/** Hears every command to the server. */
function listener(hear: (command: string) => void) {
  const ignore = () => undefined;
  const debug = (entry: unknown, text: unknown): void => {
    if (isJsonObject(entry) && entry["tnx"] === "client" && typeof text === "string") hear(text);
  };
  return { level: ignore, trace: ignore, debug, info: ignore, warn: ignore, error: ignore, fatal: ignore };
}

/** Why the host must not be reached, if so. */
const lookedUp = (rules: EgressRules, host: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    rules.lookup(host, { all: true }, (failure) => resolve(failure === null ? undefined : messageOf(failure)));
  });
