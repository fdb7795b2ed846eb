import { createSubstituter, isFailure } from "./substitute.ts";
import type { Variables } from "./variable.ts";

export function secretTexts(variables: Variables): readonly string[] {
  const substituter = createSubstituter(variables);
  const secrets = [...variables.values()].filter(({ isSecret }) => isSecret === true);
  return secrets.flatMap(({ text }) => {
    const used = substituter.substitute(text);
    return isFailure(used) || used.scalar.text === text ? [text] : [text, used.scalar.text];
  });
}
