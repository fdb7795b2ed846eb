import { CliError, type Query } from "./verb.ts";

const withOne = new Set(["Eq", "Ne", "Lt", "Lte", "Gt", "Gte", "Re", "In", "Nin"]);
const withTwo = new Set(["Between", "Except"]);
const shaping = new Set(["sort", "limit", "offset", "slim", "params"]);

/** Filters of a list as a query: `Name=x ...`, or words such as `Name Eq x sort Name reverse`. */
export function queryOf(words: readonly string[]): Query {
  return words[0]?.includes("=") === true ? pairs(words) : stanzas(words);
}

const pairs = (words: readonly string[]): Query =>
  words.map((word) => {
    const at = word.indexOf("=");
    if (at < 0) throw new CliError(`Filter argument requires an '=' separator: ${word}`);
    return [word.slice(0, at), word.slice(at + 1)] as const;
  });

function stanzas(words: readonly string[]): Query {
  const query: (readonly [string, string])[] = [];
  for (let at = 0; at < words.length; ) {
    const [index = "", given = "", first, second] = words.slice(at, at + 4);
    if (index === "reverse" || index === "decode") {
      query.push([index, "true"]);
      at += 1;
      continue;
    }
    if (shaping.has(index)) {
      if (at + 1 >= words.length) throw new CliError(`Invalid Filter: ${index} requires exactly one parameter`);
      query.push([index, given]);
      at += 2;
      continue;
    }
    if (at + 1 >= words.length) throw new CliError(`Invalid Filter: ${index} requires an op and at least 1 parameter`);
    const operator = given.slice(0, 1).toUpperCase() + given.slice(1).toLowerCase();
    if (!withOne.has(operator) && !withTwo.has(operator))
      throw new CliError(`Invalid Filter ${index}: unknown op ${operator}`);
    if (first === undefined) throw new CliError(`Invalid Filter: ${index} op ${operator} requires 1 parameter`);
    const isPair = withTwo.has(operator) && !first.includes(",");
    if (isPair && second === undefined)
      throw new CliError(`Invalid Filter: ${index} op ${operator} requires 1 or 2 parameters`);
    query.push([index, `${operator}(${isPair ? `${first},${second}` : first})`]);
    at += isPair ? 4 : 3;
  }
  return query;
}
