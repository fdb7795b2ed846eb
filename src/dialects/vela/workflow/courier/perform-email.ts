import { createTransport } from "nodemailer";
import { messageOf } from "#lib/base/index.ts";
import type { OutsideRequest } from "../../ops/provider.ts";
import type { EffectAnswer } from "../courier.ts";
import { EgressRules } from "./egress.ts";

export type EmailRequest = Extract<OutsideRequest, { kind: "email" }>;

const implicitTls = 465;
const limitMs = 30_000;

/** TLS from the start on port 465, else STARTTLS if the server offers it. Without a password nobody logs in. */
export async function performEmail(request: EmailRequest, denied: readonly string[]): Promise<EffectAnswer> {
  const rules = new EgressRules(denied);
  const refusal = rules.refusal(request.host) ?? (await lookedUp(rules, request.host));
  if (refusal !== undefined) return { ok: false, message: refusal };
  const { username: user, password: pass } = request;
  const transport = createTransport({
    host: request.host,
    port: request.port,
    secure: request.port === implicitTls,
    ...(pass === "" ? {} : { auth: { user, pass } }),
    connectionTimeout: limitMs,
    greetingTimeout: limitMs,
    socketTimeout: limitMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { address, alias = "" } = request.from;
    await transport.sendMail({
      from: alias === "" ? address : { name: alias, address },
      to: [...request.to],
      subject: request.subject,
      // As KubeVela sends it.
      html: request.body,
    });
    return { ok: true, value: {} };
  } catch (thrown) {
    return { ok: false, message: `mail server ${request.host}:${request.port}: ${messageOf(thrown)}` };
  } finally {
    transport.close();
  }
}

/** Why the host must not be reached, if so. */
const lookedUp = (rules: EgressRules, host: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    rules.lookup(host, { all: true }, (failure) => resolve(failure === null ? undefined : messageOf(failure)));
  });
