import { createSubstituter, isFailure } from "./substitute.ts";
import type { Variables } from "./variable.ts";

/** Texts that nobody may see: values of secret variables, as they are written and as they are used, which differs where they hold variables. */
export function secretTexts(variables: Variables): readonly string[] {
  const substituter = createSubstituter(variables);
  const secrets = [...variables.values()].filter(({ isSecret }) => isSecret === true);
  return secrets.flatMap(({ text }) => {
    const used = substituter.substitute(text);
    return isFailure(used) || used.scalar.text === text ? [text] : [text, used.scalar.text];
  });
}
