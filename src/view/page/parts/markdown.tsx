import { marked, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { visible } from "../format.ts";
import { Diff, isDiff } from "./diff.tsx";
import { isProse } from "./prose.ts";

/** Drawing more elements takes too long: a text of 20,000 characters can be a list of 5,000 items. */
const ELEMENTS_MAX = 1_500;

/**
 * Markdown as elements. Every text of it becomes a text node, HTML included, so nothing in it can run or load: images are named,
 * and links lead only to the web.
 */
export function Markdown({ text }: { text: string }) {
  return useMemo(() => {
    const shown = visible(text);
    const tokens = isProse(shown) ? marked.lexer(shown) : undefined;
    return tokens && elementCount(tokens) <= ELEMENTS_MAX ? (
      <div class="prose" dir="auto">
        {blocks(tokens)}
      </div>
    ) : (
      <pre class="plain-text">{shown}</pre>
    );
  }, [text]);
}

function elementCount(tokens: readonly Token[]): number {
  let count = 0;
  marked.walkTokens([...tokens], (token) => {
    if (token.type === "table") {
      const { header, rows } = token as Tokens.Table;
      count += header.length * (rows.length + 1);
    } else if (token.type !== "text" && token.type !== "space") count += 1;
  });
  return count;
}

const blocks = (tokens: readonly Token[]): ComponentChildren => tokens.map((token, index) => block(token, index));
const inlines = (tokens: readonly Token[] | undefined): ComponentChildren =>
  tokens?.map((token, index) => inline(token, index));

function block(given: Token, key: number): ComponentChildren {
  const token = given as Tokens.Generic;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      // The page's own headings come before those of a message.
      const Heading = `h${Math.min(token.depth + 2, 6)}` as "h3";
      return <Heading key={key}>{inlines(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p key={key}>{inlines(token.tokens)}</p>;
    case "text":
      return <span key={key}>{token.tokens ? inlines(token.tokens) : token.text}</span>;
    case "code":
      return token.lang === "diff" || isDiff(token.text) ? (
        <Diff key={key} text={token.text} />
      ) : (
        <pre key={key} class="code" tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{blocks(token.tokens!)}</blockquote>;
    case "list": {
      const items = (token.items as Tokens.ListItem[]).map((item, index) => <li key={index}>{blocks(item.tokens)}</li>);
      return token.ordered ? (
        <ol key={key} start={Number(token.start) || 1}>
          {items}
        </ol>
      ) : (
        <ul key={key}>{items}</ul>
      );
    }
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <div key={key} class="scroll" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <tr>
                {header.map((cell, index) => (
                  <th key={index}>{inlines(cell.tokens)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column}>{inlines(cell.tokens)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    }
    case "hr":
      return <hr key={key} />;
    case "html":
      return (
        <p key={key} class="raw">
          {token.raw.trimEnd()}
        </p>
      );
    default:
      return <span key={key}>{inline(token, key)}</span>;
  }
}

function inline(given: Token, key: number): ComponentChildren {
  const token = given as Tokens.Generic;
  switch (token.type) {
    case "strong":
      return <strong key={key}>{inlines(token.tokens)}</strong>;
    case "em":
      return <em key={key}>{inlines(token.tokens)}</em>;
    case "del":
      return <del key={key}>{inlines(token.tokens)}</del>;
    case "codespan":
      return <code key={key}>{token.text}</code>;
    case "checkbox":
      return <input key={key} type="checkbox" checked={token.checked === true} disabled aria-label="Done" />;
    case "br":
      return <br key={key} />;
    case "link":
      return (
        <SafeLink key={key} to={token.href}>
          {inlines(token.tokens)}
        </SafeLink>
      );
    case "image":
      return (
        <SafeLink key={key} to={token.href}>
          {`[image: ${token.text || token.href}]`}
        </SafeLink>
      );
    case "text":
      return token.tokens ? <span key={key}>{inlines(token.tokens)}</span> : token.text;
    default:
      return token.type === "escape" ? token.text : token.raw;
  }
}

/** A link to the web, or only its text if it leads elsewhere. */
export function SafeLink({ to, children }: { to: string; children: ComponentChildren }) {
  if (!/^(https?:\/\/|mailto:)/i.test(to)) return <span title={to}>{children}</span>;
  return (
    <a href={to} target="_blank" rel="noreferrer noopener" title={to}>
      {children}
    </a>
  );
}
