import type { ASTNode } from "@marcbachmann/cel-js";
import type { CelReferences } from "./types.ts";

/** A use of a variable with its place in the source, before lines and columns are known. */
export interface Use {
  readonly root: string;
  /** Members with constant names, up to the first that is computed. */
  readonly path: readonly string[];
  /** Where the root begins, in UTF-16 code units of the source. */
  readonly offset: number;
}

export interface Uses {
  readonly variables: readonly Use[];
  readonly functions: CelReferences["functions"];
}

// Walks over the library's syntax trees. An operator's node holds its operands in `args`; calls, members, literals of
// maps and the unary operators differ, and `childrenOf` is the one place that knows how.

/** Names that are no variables when a function is called on them: `cel.bind(…)`, `optional.of(…)`, …. */
const namespaces: ReadonlySet<string> = new Set(["cel", "optional", "ip"]);
const oneVariableMacros = new Set(["all", "exists", "exists_one", "map", "filter"]);

/** Direct children of a node in the order of the source. */
export function childrenOf(node: ASTNode): readonly ASTNode[] {
  if (node.op === "value" || node.op === "id") return [];
  if (node.op === "." || node.op === ".?") return [node.args[0]];
  if (node.op === "call") return node.args[1];
  if (node.op === "rcall") return [node.args[1], ...node.args[2]];
  if (node.op === "map") return node.args.flat();
  if (node.op === "!_" || node.op === "-_") return [node.args];
  return node.args;
}

/** Every node, parents first. Needs no call stack, so that long chains of operators cannot overflow it. */
export function allNodes(root: ASTNode): readonly ASTNode[] {
  const found: ASTNode[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    found.push(node);
    waiting.push(...childrenOf(node).toReversed());
  }
  return found;
}

/**
 * Variables that an expression takes from outside, in the order of the source, and the names of everything it calls.
 * Must see the tree before calls are sent to replaced functions, whose names nobody wrote.
 */
export function findUses(root: ASTNode): Uses {
  const variables: Use[] = [];
  const functions = new Set<string>();
  visit(root, new Set(), variables, functions);
  return { variables: variables.sort((a, b) => a.offset - b.offset), functions: [...functions] };
}

/** `own` are the variables of the macros around the node: they hide those of the environment. */
function visit(node: ASTNode, own: ReadonlySet<string>, variables: Use[], functions: Set<string>): void {
  const chain = readChain(node);
  if (chain !== undefined) {
    if (!own.has(chain.use.root)) variables.push(chain.use);
    for (const index of chain.indexes) visit(index, own, variables, functions);
    return;
  }
  if (node.op === "call" || node.op === "rcall") functions.add(node.args[0]);
  const bound = boundVariable(node);
  for (const child of childrenOf(node)) {
    // The declaration of a macro's variable is no use of it, and its range is outside of its scope.
    if (child === bound?.declaration || isNamespace(node, child, own)) continue;
    const inScope = bound !== undefined && child !== bound.outside;
    visit(child, inScope ? new Set([...own, bound.name]) : own, variables, functions);
  }
}

/** Whether a child is the namespace in front of the function that the node calls. */
const isNamespace = (node: ASTNode, child: ASTNode, own: ReadonlySet<string>): boolean =>
  node.op === "rcall" &&
  child === node.args[1] &&
  child.op === "id" &&
  namespaces.has(child.args) &&
  !own.has(child.args);

/** The variable a macro brings: `x` of `list.all(x, …)`, `v` of `cel.bind(v, …, …)`. */
interface Bound {
  readonly name: string;
  readonly declaration: ASTNode;
  /** The child that does not see the variable. */
  readonly outside: ASTNode | undefined;
}

function boundVariable(node: ASTNode): Bound | undefined {
  if (node.op !== "rcall") return undefined;
  const [name, receiver, args] = node.args;
  const [declaration, value] = args;
  if (declaration?.op !== "id") return undefined;
  if (oneVariableMacros.has(name) && args.length >= 2)
    return { name: declaration.args, declaration, outside: receiver };
  const binds = name === "bind" && args.length === 3 && receiver.op === "id" && receiver.args === "cel";
  return binds ? { name: declaration.args, declaration, outside: value } : undefined;
}

/** `a.b["c"][i].d` has root `a` and path `b, c`; the computed index is visited on its own. */
function readChain(node: ASTNode): { readonly use: Use; readonly indexes: readonly ASTNode[] } | undefined {
  const members: (string | ASTNode)[] = [];
  let at = node;
  for (;;) {
    if (at.op === "." || at.op === ".?") {
      members.unshift(at.args[1]);
      at = at.args[0];
    } else if (at.op === "[]" || at.op === "[?]") {
      const index = at.args[1];
      members.unshift(index.op === "value" && typeof index.args === "string" ? index.args : index);
      at = at.args[0];
    } else {
      break;
    }
  }
  if (at.op !== "id") return undefined;
  const firstComputed = members.findIndex((member) => typeof member !== "string");
  const constant = firstComputed === -1 ? members : members.slice(0, firstComputed);
  return {
    use: { root: at.args, path: constant.filter((member) => typeof member === "string"), offset: at.start },
    indexes: members.filter((member) => typeof member !== "string"),
  };
}
