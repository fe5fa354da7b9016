import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "@typescript/typescript6";

/** A place in the source, and what a mutant has there. */
export interface Mutant {
  /** Relative to the repository, with slashes. */
  file: string;
  /** From 1. */
  line: number;
  /** Offsets in the file's text. */
  from: number;
  to: number;
  was: string;
  becomes: string;
}

const SWAPPED: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.LessThanToken]: "<=",
  [ts.SyntaxKind.LessThanEqualsToken]: "<",
  [ts.SyntaxKind.GreaterThanToken]: ">=",
  [ts.SyntaxKind.GreaterThanEqualsToken]: ">",
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: "!==",
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: "===",
  [ts.SyntaxKind.AmpersandAmpersandToken]: "||",
  [ts.SyntaxKind.BarBarToken]: "&&",
  [ts.SyntaxKind.MinusToken]: "+",
  [ts.SyntaxKind.AsteriskToken]: "/",
  [ts.SyntaxKind.SlashToken]: "*",
};

/** Nothing can be seen of these calls: they stop the program where it has a bug, or spare work. */
const UNSEEN_CALLS = /^(assert|console|super)\b/;

/** Returns every mutant of the TypeScript files in the folders, in the order of the source. */
export function mutantsIn(root: string, folders: readonly string[]): Mutant[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .flatMap((name) => {
        const file = `${folder}/${name.replaceAll("\\", "/")}`;
        return mutantsOf(file, readFileSync(join(root, file), "utf8"));
      }),
  );
}

function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
  const mutants: Mutant[] = [];
  const add = (node: ts.Node, becomes: string): void => {
    const from = node.getStart(source);
    const line = source.getLineAndCharacterOfPosition(from).line + 1;
    mutants.push({ file, line, from, to: node.getEnd(), was: node.getText(source), becomes });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node) || ts.isThrowStatement(node)) return;
    if (ts.isBinaryExpression(node)) {
      const becomes = SWAPPED[node.operatorToken.kind];
      if (becomes !== undefined) add(node.operatorToken, becomes);
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      add(node, `(${node.operand.getText(source)})`);
    } else if (ts.isNumericLiteral(node)) {
      add(node, `(${node.getText(source)} + 1)`);
    } else if (node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword) {
      add(node, node.kind === ts.SyntaxKind.TrueKeyword ? "false" : "true");
    } else if (ts.isIfStatement(node)) {
      add(node.expression, "false");
    } else if (ts.isExpressionStatement(node)) {
      const call = node.expression.getText(source);
      if (UNSEEN_CALLS.test(call)) return;
      add(node, ";");
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mutants;
}
