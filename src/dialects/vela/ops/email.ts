import { defined, numberAt, textAt, textsAt } from "#lib/base/index.ts";
import { type Action, done, failure, inBothForms } from "./form.ts";

const send: Action = async (params, scope) => {
  const [address, host] = [textAt(params, "from", "address"), textAt(params, "from", "host")];
  const port = numberAt(params, "from", "port");
  const to = textsAt(params, "to");
  if (address === undefined || host === undefined || port === undefined)
    return failure("from: address, host and port are needed");
  if (to.length === 0) return failure("to: expected at least one address");
  const alias = textAt(params, "from", "alias");
  const result = await scope.once({
    kind: "email",
    host,
    port,
    username: address,
    password: textAt(params, "from", "password") ?? "",
    from: { address, ...defined({ alias }) },
    to,
    subject: textAt(params, "content", "subject") ?? "",
    body: textAt(params, "content", "body") ?? "",
  });
  return result.kind === "continue" ? done() : result;
};

export const emailProviders = inBothForms("email", { send });
