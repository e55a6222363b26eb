"""Default lists of `scope.danger`: links of real software that change something when they are followed.

filters/danger.py explains the patterns; default.yaml, which has the same lists, explains the groups.
"""

from __future__ import annotations

_LINKS = """
/logout|log-out|log_out|logoff|log-off|log_off|signout|sign-out|sign_out|logout_page|dologout
/*:userlogout|*:logout
/entry/signout/*
/login.php?action=out
/noauth/logout.html
?logout|log_out|signout|sign_out
?title=*:userlogout|*:logout
?logintype|logout_reason=logout
?action|act|do|op|task|_task|mode|page_action=logout|log_out|log-out|logoff|signout|sign_out|*.logout
?route=*/logout|*/add|*/remove
?action|act|do|op|_action=edit|editpost|delete|del|remove|destroy|erase|deletepost|deletemsg|delete_*|deletepage|renamepage
?mode|task|cmd|func=delete|remove|*.delete|*.remove&*id|item|file|f|p|t=#
?*[action]=delete|remove|destroy
?action=watch|unwatch|protect|unprotect|rollback|revert|markpatrolled|purge|submit|mcrundo|mcrrestore|revisiondelete&title=*
?veaction|do=edit|editsource
?do=draft|draftdel|recover|lock|unlock|save|revert|create|addtobook|profile_delete
?action=attachfile&do=del
?delete|del=#
/#/delete|destroy|remove|trash
/delete|destroy|remove/#
/delete|remove|destroy|deletepost|delete_post?id|*_id|item|msg|post|comment|entry|cid|pid|tid|mid|uid=#
/deletecomment|delete_comment|del_entry|bug_delete?id|*_id|comment|entry|cid|uid=#
/delete.jsp?page=*
/removepage|removeattachment|editpage|createpage|doeditpage?*=#
/gollum/edit|create|delete|rename|revert/**
/xwiki|twiki|foswiki/bin/edit|inline|save|delete|undelete|rename|rollback|attach|upload|logout|logon|lock|manage/**
/*/object_cut|object_copy|object_paste|object_delete|delete_confirmation|content_status_modify
/@@logout|@@delete
/wp-admin/**
/wp-login.php?action=logout|rp|resetpass|confirmaction|postpass
/posting.php?mode=*
/mcp.php
/add-to-cart|add_to_cart|addtocart|add-to-basket|add-to-bag|add-to-wishlist|add-to-compare/#
/#/add-to-cart|add_to_cart|addtocart|add-to-basket|add-to-bag|add-to-wishlist|add-to-compare
/product|products|item|items/*/add-to-cart|add_to_cart|addtocart|add-to-basket|add-to-bag|add-to-wishlist
/add-to-cart|add_to_cart|addtocart|add-to-basket|add-to-bag?*=*
/cart|basket|wishlist|compare|product_compare/add|remove|delete|clear|empty/**
/wishlist/index/add|remove/**
?add-to-cart|add_to_cart|addtocart|add-to-basket|add_to_basket|remove_item|undo_item|empty-cart|empty_cart
?add_to_wishlist|add-to-wishlist|remove_from_wishlist|add-to-compare|add_to_compare
?action|act|do|op|task=add_to_cart|addtocart|add-to-cart|buy_now|add_product|remove_product|notify_remove
?action=yith-*
/cart?add|delete|remove|update=#
/#/upvote|downvote|vote-up|vote-down|voteup|votedown|vote_up|vote_down|like|unlike|dislike|react
/upvote|downvote|vote-up|vote-down|like|unlike|dislike/#
/vote/up|down/#
/vote/#/up|down
/#/vote|rate/up|down|#
/vote?how=*
?vote|voting|poll_vote=up|down|plus|minus|like|dislike|upvote|downvote|1|-1
?action|act|do|op|task=vote|upvote|downvote|vote_*|like|unlike|dislike|thank|thanks|*.vote
?like_comment|dislike_comment
/subscribe|unsubscribe/#
/#/subscribe|unsubscribe|follow|unfollow
/subscribe|unsubscribe|watch|monitor|bug_monitor_add?id|f|t|d|topic|thread|tid|fid|forum|list|*_id=#
/unsubscribe?email|token|key|uid|u|k|id|hash|code|t=*
/email/unsubscribe/*
/mailman/confirm|unsubscribe/**
/sigrequest|signoff/*
/auto_signoff
/threads|forums/*/watch
?action|act|do|op=subscribe|unsubscribe|addsubscription|removesubscription|quicklink|follow|unfollow
?action=bbp_subscribe|bbp_unsubscribe|bbp_favorite_*
?p=unsubscribe|confirm&uid=*
?unsub|unsubscribe=*
?watch|unwatch=topic|forum
?bookmark=1&hash=*
?subscribe=#
/action/star|unstar|watch|unwatch|follow|unfollow
/flag/flag|unflag/**
?mark=forums|topics|forum|topic|all|read&hash|f|t|mark_time=*
?action|act|do|op=markread|markasread|markallread|mark_read|mark_all_read|markforumread|mark
/-/mark-read
/mark-read?date=*
?_wpnonce|sectok|sesskey|csrfkey|logouthash|logoutkey|markreadhash|my_post_key|securitytoken|requesttoken|moderation-hash=*
?confirmation_token|reset_password_token|unlock_token|invitation_token|unsubscribe_token=*
?activation_key|activation_token|confirm_hash=*
?access_token|auth_token|api_token|api_key|apikey=*
/reset-password|reset_password|password-reset|password_reset|resetpassword?token|code|key|hash|t=*
/verify-email|verify_email|confirm-email|activate?token|code|key|hash|t=*
/password/reset/#
/reset-password|reset_password|password-reset|password_reset|verify-email|confirm-email|activate/#
/wp-cron.php|cron.php|wp-activate.php|reboot.cgi|reboot.php|restart.cgi|shutdown.cgi
/job/*/build|buildwithparameters|dodelete|disable|enable|togglelogkeep
?sql_query|cmnd|stream.body=*
/relay/#?turn=*
?share=facebook|twitter|x|linkedin|pinterest|reddit|tumblr|email|telegram|pocket
?share=whatsapp|jetpack-whatsapp|skype|mastodon|bluesky|threads
?option=com_banners&task=click
/adclick.php|ck.php|adclick
"""
DANGEROUS = tuple(_LINKS.split())

# Directories, and first labels of hosts, under which a path is the title of a document.
_MANUALS = """
docs doc documentation documents manual manuals man manpage manpages reference ref refman help guide guides tutorial tutorials javadoc
apidocs api-docs api-reference developer developers devdocs learn dictionary glossary define definition thesaurus encyclopedia tree blob
blame src source sources raw plain browser browse annotate viewvc viewcvs cvsweb trunk log commits history diff patch coverage
"""
MANUALS = tuple(_MANUALS.split())

# Directories under which a path of one plain name is a title.
_TITLES = """
wiki w topic topics t thread threads discussion discussions question questions article articles blog blogs news post posts story stories
tag tags category categories label labels page pages entry word words term terms search s faq kb knowledge knowledgebase package
packages project projects pool crate crates gem gems module modules command commands function functions method methods people person
author authors artist album song book books film movie product products
"""
TITLES = tuple(_TITLES.split())
