"""Words that tell what a prompt is about. What they mean together is for ``category``.

In six languages: English, German, French, Spanish, Russian and Chinese.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Topic: TypeAlias = Literal[
    "make", "mend", "tech", "program", "literature", "copy", "persona", "prove", "amount", "count",
    "logic", "ask", "explain", "how",
]  # fmt: skip
"""What a word speaks of; each is described in ``_WORDS``."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A word, or with ``stem`` all that begin so; ``after`` is the word before it, "" for any."""

    word: str
    stem: bool
    after: str
    topic: Topic


def places_of(text: str) -> Mapping[Topic, list[int]]:
    """Return at which places of *text*, counted in words, each topic is spoken of.

    A Chinese character counts as a word, since nothing parts the words.
    """
    found: dict[Topic, list[int]] = defaultdict(list)
    before = ""
    for place, word in enumerate(_words(text.casefold())):
        for entry in _ENTRIES.get(word[:_START], ()):
            same = word.startswith(entry.word) if entry.stem else word == entry.word
            if same and entry.after in {"", before}:
                found[entry.topic].append(place)
        before = word
    return found


def _words(text: str) -> Sequence[str]:
    plain = text.replace("c++", "cpp").replace("c#", "csharp")
    pattern = _PIECE if _CHINESE.search(plain) else _RUN
    return pattern.findall(plain)


_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_RUN = re.compile(r"\w+")
_PIECE = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")

_WORDS: Final[Mapping[Topic, str]] = {
    # to bring a text or a program into being
    "make": """
        write compos* draft creat* invent* imagin* craft tell generat* continu* pen suggest
        brainstorm
        give_me come_up make_up help_me
        schreib* verfass* dicht* erfind* erfinde* erzähl* entwirf entwerf* formulier* reim* denk_dir
        écri* ecri* rédige* redige* raconte* invente* imagine* composer compose propose* trouve*
        escrib* redact* compon* inventa* imagina* cuéntame cuenta crea genera propón
        напиш* сочин* придум* расскаж* состав* опиш* создай*
        写 编 作_一 创_作 想_一 想_个 讲_个 讲_一 起_名 生_成
        """,
    # to work on a program that is there
    "mend": """
        fix debug* refactor* implement* optimi* compil* deploy* parse* port code run install* rename
        sort convert
        implementier* programmier* korrigier* beheb* reparier* sortier* optimier*
        implément* implement* corrige* débog* debog* programme trie trier optimise*
        implementa* corrige* depura* arregla* ordena* ordeno optimiza* programa
        реализ* исправ* отлад* отлаж* запрограмм* отсортир* оптимиз*
        实_现 修_复 调_试 编_程 优_化 重_构 排_序 运_行
        """,
    # names that hardly anyone but a programmer uses
    "tech": """
        python python3 javascript typescript java cpp csharp golang kotlin php perl sql
        mysql postgres* sqlite
        mongodb regex* regexp html css json yaml xml bash powershell linux docker kubernetes
        git github
        numpy pandas pytorch tensorflow django flask fastapi nodejs npm pip jquery graphql webpack
        terraform ansible nginx redis kafka pytest junit jest selenium vba matlab haskell scala
        frontend backend localhost csv api async stdout stdin runtime undefined nullpointer*
        stacktrace
        traceback rebase lru unittest* rust ruby swift react angular vue
        """,
    # names of a program's parts, which mean other things too
    "program": """
        function functions class classes method methods script* program programs query queries code
        algorithm* loop* array* variable* bug bugs compiler endpoint* database* server unit_test
        unit_tests test_case data_structure linked_list binary_tree binary_search cache
        parser thread*
        pointer* module* library exception* syntax command shell hash terminal one_liner
        funktion* klasse* methode* skript* programm abfrage* schleife* fehlermeldung* datenbank*
        algorithmus* quellcode variable* binäre_suche zeichenkette*
        fonction* classe script* programme* requête* boucle* tableau base_de algorithme*
        variable* chaîne
        función funciones funcion clase consulta* bucle* código programa algoritmo* cadena
        diccionario*
        fichero* archivo*
        функци* класс* скрипт* программ* запрос* код коде кода массив* цикл* алгоритм*
        переменн* ошибк*
        строк*
        函_数 代_码 脚_本 程_序 算_法 查_询 数_组 报_错 循_环 接_口 变_量 数_据 爬_虫
        """,
    # forms of literature
    "literature": """
        story stories poem* poetry haiku limerick* sonnet* lyric* song* dialogue* monologue*
        fairy tale*
        joke* novel fable* ballad* screenplay* rap lullab* myth* verse* fiction fanfic*
        gedicht* geschichte* kurzgeschichte* märchen* lied liedtext* dialog witz* roman reim* fabel*
        erzählung* sonett* ballade*
        poème* histoire conte contes dialogue* chanson* blague* nouvelle_sur roman fable*
        récit* sonnet*
        poésie* berceuse*
        poema* poesía* cuento* microcuento* relato* historia_de historia_sobre diálogo*
        canción* chiste*
        novela* fábula* soneto* microrrelato*
        стих* рассказ* сказк* песн* диалог* анекдот* шутк* повест* роман басн* хокку хайку
        колыбельн*
        诗 故_事 小_说 童_话 歌_词 对_联 散_文 笑_话 对_话 剧_本 寓_言 俳_句
        """,
    # texts with a purpose, and names for things
    "copy": """
        email* mail letter slogan* blog ad ads advert* tagline* speech* essay post tweet*
        newsletter* caption* headline* invitation* names name_for title_for bio toast
        brief werbetext* werbespruch* rede slogan* einladung* aufsatz blogbeitrag* anzeige*
        überschrift*
        lettre* discours slogan* annonce* publicité* invitation* courriel* titre_pour
        nom_pour article
        carta correo eslogan* eslóganes discurso* anuncio* invitación* ensayo nombres artículo lema
        письм* слоган* речь объявлени* эссе пост приглашени* поздравлени* статью названи*
        广_告 邮_件 标_语 口_号 演_讲 信 作_文 文_案 名_字 贺_词
        """,
    "persona": """
        you_are act_as pretend roleplay role_play du_bist stell_dir tu_es eres_un eres_una представь
        你_是 扮_演 假_装
        """,
    # what has a proof or a calculation for its answer
    "prove": """
        prove proof derive solve calculat* comput* evaluat* simplify factorise factorize integral
        derivative equation* probabilit* theorem eigenvalue* modulo divisible remainder perimeter
        beweis* berechn* löse rechne gleichung* wahrscheinlichkeit* ableitung flächeninhalt
        démontre* prouve* calcule* résous résoudre équation* probabilité* dérivée intégrale aire_du
        demuestr* demostrar calcula calcular resuelv* ecuaci* probabilidad* deriva integral
        докаж* доказ* вычисл* реши решить уравнени* вероятност* посчита* рассчита* интеграл*
        производн*
        证_明 计_算 求 解_方 方_程 概_率 积_分 导_数 推_导
        """,
    # a number is asked for
    "amount": """
        how_many how_much how_old how_fast how_long how_far average speed total cost
        wie_viel wie_viele wieviel* wie_lange wie_schnell wie_alt
        combien
        cuánto* cuánta* velocidad
        сколько скорость
        多_少 几_个 几_颗 几_只 几_天 几_人 平_均 一_共
        """,
    "count": """
        two three four five six seven eight nine ten eleven twelve dozen half twice double
        zwei drei vier fünf sechs sieben acht neun zehn zwölf hälfte halb doppelt*
        deux trois quatre cinq sept huit neuf dix douze moitié double
        dos tres cuatro cinco seis siete ocho nueve diez doce mitad doble
        два две двух три трёх четыре пять шесть семь восемь девять десять половин* вдвое
        两 三 四 五 六 七 八 九 十 半 倍
        """,
    # something follows from something else
    "logic": """
        conclude deduce infer follows logically puzzle riddle paradox necessarily step_by
        which_switch
        find_out must_be if_all if_some
        folgt schlussfolger* rätsel logisch daraus
        déduire conclure énigme logiquement devinette
        deducir concluir acertijo lógicamente adivinanza
        следует_ли загадк* логическ* вывод*
        推_理 推_断 谜_语 逻_辑
        """,
    # a fact is asked for
    "ask": """
        who whom whose when where which what_is what_s what_are define definition meaning difference
        compare capital
        wer wen wem wann wo welche* welcher was_ist was_sind unterschied hauptstadt bedeutet
        qui quand où quel quelle quels quelles qu_est différence capitale signifie
        quién quiénes cuándo dónde cuál cuáles qué_es qué_son diferencia capital significa
        кто когда где что_такое какой какая какое какие разниц* столиц* означает
        谁 什_么 哪 何_时 区_别 首_都 多_长 多_高 多_大 几_点
        """,
    "explain": """
        explain describe why summarize summarise how_does how_do overview tell_me
        erkläre* erklär beschreib* warum weshalb wieso
        explique* décris pourquoi
        explica* describe por_qué
        объясн* почему зачем
        解_释 为_什 介_绍 说_明
        """,
    "how": """
        how_do how_can how_to how_would how_should wie_kann wie_schreibe wie_finde wie_mache comment
        cómo como как 如_何 怎_么 怎_样
        """,
}
"""A star ends a stem; of what an underscore joins the second word follows the first."""


def _indexed() -> Mapping[str, Sequence[_Entry]]:
    """Return all entries by their first letters, which few words of a text share."""
    entries: dict[str, list[_Entry]] = defaultdict(list)
    for topic, words in _WORDS.items():
        for written in dict.fromkeys(words.casefold().split()):
            after, _, word = written.rpartition("_")
            stem = word.endswith("*")
            entry = _Entry(word.removesuffix("*"), stem, after, topic)
            entries[entry.word[:_START]].append(entry)
    return entries


_START: Final = 3  # letters; no stem has fewer
_ENTRIES: Final = _indexed()
